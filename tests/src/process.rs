//! A real `weir serve` on a port of its own, and what it costs.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};

/// A running server. Dropping it kills it as `kill -9` does; the data stays.
pub struct Weir {
    child: Child,
    url: String,
}

/// What a process has used so far.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// User and system time.
    pub cpu: Duration,
    /// Resident memory now, bytes.
    pub rss: u64,
    /// The most that was ever resident, bytes.
    pub rss_peak: u64,
}

/// Where cargo puts what it builds: beside the running test or bench.
///
/// # Errors
/// If the running program's own path is not known.
pub fn target_dir() -> Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let release = exe
        .ancestors()
        .find(|dir| dir.file_name().is_some_and(|name| name == "release"))
        .context("run this by cargo, with the release profile")?;
    Ok(release.parent().context("no target directory")?.to_path_buf())
}

/// The `weir` binary: `WEIR_BIN`, or the one built beside this program.
///
/// # Errors
/// If it is not there.
pub fn binary() -> Result<PathBuf> {
    let path = match std::env::var_os("WEIR_BIN") {
        Some(path) => PathBuf::from(path),
        None => target_dir()?.join("release/weir"),
    };
    if !path.exists() {
        bail!("{} is not there: run `cargo build --release --workspace` first", path.display());
    }
    Ok(path)
}

impl Weir {
    /// Starts a server over a data directory and waits until it listens. It may
    /// still be recovering: ask [`crate::client::Client::ready`].
    ///
    /// # Errors
    /// If it does not come up.
    pub fn start(data: &Path) -> Result<Self> {
        Self::start_with(data, &[])
    }

    /// The same, with environment variables.
    ///
    /// # Errors
    /// If it does not come up.
    pub fn start_with(data: &Path, env: &[(&str, &str)]) -> Result<Self> {
        let mut command = Command::new(binary()?);
        command.envs(env.iter().copied());
        Self::start_as(command, data)
    }

    /// The same as [`Weir::start`], where it may open so many files.
    ///
    /// # Errors
    /// If it does not come up.
    pub fn start_with_files(data: &Path, files: u32) -> Result<Self> {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={files}:{files}")).arg(binary()?);
        Self::start_as(command, data)
    }

    fn start_as(mut command: Command, data: &Path) -> Result<Self> {
        let log =
            std::fs::File::options().create(true).append(true).open(data.with_extension("log"))?;
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("no stdout")?;
        let mut stdout = BufReader::new(stdout);
        while stdout.read_line(&mut line)? > 0 {
            if let Some(url) = line.trim().strip_prefix("weir: listening on ") {
                let url = url.to_owned();
                // Whatever else it prints must not fill the pipe.
                std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
                return Ok(Self { child, url });
            }
            line.clear();
        }
        let status = child.wait()?;
        let log = std::fs::read_to_string(data.with_extension("log")).unwrap_or_default();
        bail!("weir did not come up: {status}\n{log}")
    }

    /// Where it listens, as `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`, and waits until it is gone.
    ///
    /// # Errors
    /// If the signal cannot be sent.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// SIGTERM, and waits until it has drained and gone.
    ///
    /// # Errors
    /// If it does not end with success.
    pub fn terminate(mut self) -> Result<()> {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status()?;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("weir ended with {status}");
        }
        Ok(())
    }

    /// Has it ended by itself? A server that is killed by what it is given is a
    /// defect.
    ///
    /// # Errors
    /// If that cannot be found out.
    pub fn ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// What it has used so far, from `/proc`.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn usage(&self) -> Result<Usage> {
        let pid = self.pid();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The second field is the name in parentheses and may hold spaces.
        let fields: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |i: usize| -> Result<u64> { Ok(fields.get(i).context("short stat")?.parse()?) };
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let kib = |name: &str| -> Result<u64> {
            let line = status.lines().find(|l| l.starts_with(name)).context("no such line")?;
            Ok(line.split_whitespace().nth(1).context("no figure")?.parse::<u64>()? * 1024)
        };
        Ok(Usage {
            // Linux counts these in hundredths of a second on every platform that we run on.
            cpu: Duration::from_millis((ticks(11)? + ticks(12)?) * 10),
            rss: kib("VmRSS:")?,
            rss_peak: kib("VmHWM:")?,
        })
    }
}

impl Drop for Weir {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
