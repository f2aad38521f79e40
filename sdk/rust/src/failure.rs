//! Why an event or a call did not work.

use std::{any::Any, error::Error, fmt};

/// A `Result` whose error is a [`Failure`].
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// How a failure is to be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// May go away: Weir tries again, by the operator's retry policy.
    Transient,
    /// Will not go away: no further attempt. An event becomes a dead letter by
    /// default; a caller gets the failure.
    Terminal,
}

/// The error of a handler or of one event of a transform.
///
/// It is deliberately not a [`std::error::Error`], so that `?` turns any such
/// error into a failure: errors of serde_json are terminal, with the code
/// `invalid-json`, since the same bytes will not decode next time; every other
/// error is transient, with the code `error`. Where that is not what you mean, say
/// it: `.map_err(|e| Failure::terminal("bad-card", e))`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Tried again or not.
    pub kind: Kind,
    /// A short stable name in kebab case, for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

impl Failure {
    /// A failure that no further attempt will mend.
    pub fn terminal(code: impl Into<String>, message: impl fmt::Display) -> Self {
        Self { kind: Kind::Terminal, code: code.into(), message: message.to_string() }
    }

    /// A failure that may go away by itself.
    pub fn transient(code: impl Into<String>, message: impl fmt::Display) -> Self {
        Self { kind: Kind::Transient, code: code.into(), message: message.to_string() }
    }

    /// Is it terminal?
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.kind == Kind::Terminal
    }

    /// Has it this code?
    #[must_use]
    pub fn is(&self, code: &str) -> bool {
        self.code == code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let terminal = (&error as &dyn Any).is::<serde_json::Error>();
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message.push_str(": ");
            message.push_str(&cause.to_string());
            source = cause.source();
        }
        if terminal {
            Self { kind: Kind::Terminal, code: "invalid-json".into(), message }
        } else {
            Self { kind: Kind::Transient, code: "error".into(), message }
        }
    }
}
