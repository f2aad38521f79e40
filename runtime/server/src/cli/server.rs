//! Which server a command talks to.

use std::{fmt, str::FromStr};

use anyhow::{Context as _, Result};

use super::client::Client;

/// Where `weir` looks for a server, and where `weir serve` listens.
pub(super) const DEFAULT_SERVER: &str = "http://127.0.0.1:9347";
const VARIABLE: &str = "WEIR_SERVER";

/// A command that talks to a server.
#[derive(clap::Args)]
pub(super) struct Remote<A: clap::Args> {
    #[command(flatten)]
    args: A,
    /// The server to talk to; by default WEIR_SERVER, else http://127.0.0.1:9347.
    #[arg(long, value_name = "ADDRESS", global = true)]
    server: Option<Address>,
}

/// What a command takes that takes nothing.
#[derive(clap::Args)]
pub(super) struct Nothing {}

impl<A: clap::Args> Remote<A> {
    /// A client, and what else the command takes. `before` is the server that was
    /// named before the command.
    ///
    /// # Errors
    /// `WEIR_SERVER` is needed and holds no address.
    pub(super) fn connect(self, before: Option<Address>) -> Result<(Client, A)> {
        let server = match (self.server.or(before), std::env::var(VARIABLE)) {
            (Some(server), _) => server,
            (None, Ok(text)) if !text.is_empty() => {
                text.parse().context(format!("{VARIABLE} is not usable"))?
            }
            (None, _) => Address(DEFAULT_SERVER.into()),
        };
        Ok((Client::new(server)?, self.args))
    }
}

/// An address, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address(String);

/// What is no address.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no address of a server: one looks like {DEFAULT_SERVER}")]
pub(super) struct NoAddress(String);

impl FromStr for Address {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        let no = || NoAddress(text.to_owned());
        let url = reqwest::Url::parse(text).map_err(|_| no())?;
        let plain = url.query().is_none() && url.fragment().is_none();
        if url.scheme() != "http" || !url.has_host() || !plain {
            return Err(no());
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn an_address_has_a_scheme_and_a_host() {
        for good in ["http://127.0.0.1:9347", "http://weir.example/behind/proxy/"] {
            let address: Address = good.parse().unwrap();
            assert_eq!(address.to_string(), good.trim_end_matches('/'));
        }
        for bad in
            ["nonsense", "", "localhost:9347", "https://weir.example", "http://", "http://a/?b"]
        {
            let error = bad.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains("http://127.0.0.1:9347"), "{error}");
        }
    }
}
