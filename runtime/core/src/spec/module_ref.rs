//! `order@1.0.0`, `payment@^1`: a module and which of its versions will do.

use std::{fmt, str::FromStr};

use semver::{Version, VersionReq};

use crate::ids::ModuleName;

/// A module by name, and which of its versions will do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModuleRef {
    /// The module.
    pub name: ModuleName,
    /// Which versions will do. A whole version such as `1.0.0` means exactly that
    /// one; none means any.
    pub versions: VersionReq,
    text: Box<str>,
}

impl ModuleRef {
    /// The newest of `versions` that will do.
    #[must_use]
    pub fn select<'a>(
        &self,
        versions: impl IntoIterator<Item = &'a Version>,
    ) -> Option<&'a Version> {
        versions.into_iter().filter(|version| self.versions.matches(version)).max()
    }
}

impl FromStr for ModuleRef {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, versions) = match text.split_once('@') {
            Some((name, versions)) => (name, versions.trim()),
            None => (text, "*"),
        };
        let name = name.parse::<ModuleName>().map_err(|error| error.to_string())?;
        let exact = versions.parse::<Version>().is_ok();
        let versions =
            VersionReq::parse(&if exact { format!("={versions}") } else { versions.to_owned() })
                .map_err(|_| {
                    format!("`{versions}` is not a version such as `1.0.0` or a range such as `^1`")
                })?;
        Ok(Self { name, versions, text: text.into() })
    }
}

/// As it was written.
impl fmt::Display for ModuleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
