//! The table of figures, for the terminal and for `RESULTS.md`.

use std::{fmt::Write as _, path::Path};

use anyhow::Result;

/// Sections of figures in the order in which they were measured.
#[derive(Default)]
pub(crate) struct Report {
    sections: Vec<(String, Vec<(String, String)>)>,
}

impl Report {
    /// Begins a section.
    pub(crate) fn section(&mut self, title: &str) {
        eprintln!("bench: {title}");
        self.sections.push((title.into(), Vec::new()));
    }

    /// Adds a figure to the last section.
    pub(crate) fn figure(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        eprintln!("bench:   {name}: {value}");
        if let Some((_, rows)) = self.sections.last_mut() {
            rows.push((name.into(), value));
        }
    }

    fn markdown(&self) -> String {
        let mut text = String::new();
        for (title, rows) in &self.sections {
            let _ = write!(text, "\n## {title}\n\n| figure | value |\n|---|---|\n");
            for (name, value) in rows {
                let _ = writeln!(text, "| {name} | {value} |");
            }
        }
        text
    }

    /// Prints it.
    pub(crate) fn print(&self) {
        println!("{}", self.markdown());
    }

    /// Writes `tests/benches/RESULTS.md`, naming machine and date.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self) -> Result<()> {
        let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpus
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
            .map_or("unknown processor", |(_, name)| name.trim());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let date = std::process::Command::new("date").arg("+%Y-%m-%d").output()?;
        let date = String::from_utf8_lossy(&date.stdout);
        let text = format!(
            "# Results of `make bench`\n\nOne run on {cores} cores of {model}, {}. CPU seconds are user and system \
             time of the whole process. Compare ratios within a run: machines differ.\n{}",
            date.trim(),
            self.markdown()
        );
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/RESULTS.md");
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        std::fs::write(path, text)?;
        Ok(())
    }
}
