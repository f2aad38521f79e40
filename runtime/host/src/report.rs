//! The answer to an uploaded module: what it is, and what keeps it from running.

use serde::Serialize;
use weir_core::{
    description::{CellKind, Description, Face, Port},
    ids::ModuleDigest,
};

/// What the host found out about a module's bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Can Weir run it? True if and only if there are no problems.
    pub ok: bool,
    /// Bytes as uploaded.
    pub size: u64,
    /// Digest of the bytes as uploaded.
    pub digest: ModuleDigest,
    /// Source language, if the module says.
    pub language: Option<String>,
    /// Name and version of the SDK, if the module says.
    pub sdk: Option<String>,
    /// Faces that it exports, also those that this version does not run.
    pub faces: Vec<Face>,
    /// Its handlers.
    pub handlers: Vec<HandlerInfo>,
    /// Its inputs and outputs.
    pub ports: Ports,
    /// Its state cells.
    pub cells: Vec<CellInfo>,
    /// What it imports.
    pub imports: Vec<ImportInfo>,
    /// Bytes of memory that an instance takes before it has done anything.
    pub memory_floor: Option<u64>,
    /// How long it took to compile.
    pub compile_ms: Option<u64>,
    /// Everything that keeps it from running.
    pub problems: Vec<Problem>,
    /// The whole description, if the module is fit.
    #[serde(skip)]
    pub description: Option<Description>,
}

/// A handler, in short.
#[derive(Clone, Debug, Serialize)]
pub struct HandlerInfo {
    /// Its name.
    pub name: String,
    /// For people.
    pub doc: String,
    /// Does it write no state?
    pub read_only: bool,
}

/// Inputs and outputs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Ports {
    /// Of the transform face.
    pub inputs: Vec<PortInfo>,
    /// Of every face.
    pub outputs: Vec<PortInfo>,
}

/// An input or output, in short.
#[derive(Clone, Debug, Serialize)]
pub struct PortInfo {
    /// Its name.
    pub name: String,
    /// JSON Schema of the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<serde_json::Value>,
}

/// A state cell, in short.
#[derive(Clone, Debug, Serialize)]
pub struct CellInfo {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub kind: CellKind,
    /// Version of the values' schema.
    pub version: u32,
}

/// An import, and whether the host gives it.
#[derive(Clone, Debug, Serialize)]
pub struct ImportInfo {
    /// Its full name, such as `weir:operator/state@0.1.0`.
    pub name: String,
    /// Whether the host gives it.
    pub status: ImportStatus,
    /// What to do, if it does not.
    pub help: Option<String>,
}

/// Whether the host gives an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportStatus {
    /// Every operator has it.
    Granted,
    /// An operator has it if the pipeline file says so. No import of this version
    /// is of this kind.
    Grantable,
    /// The host does not have it.
    Refused,
}

/// One thing that keeps a module from running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// A short stable name in kebab case.
    pub code: String,
    /// What is wrong, as a sentence.
    pub message: String,
    /// What to do about it, if that is known.
    pub help: Option<String>,
}

impl Problem {
    pub(crate) fn new(code: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), help: Some(help.into()) }
    }
}

impl Report {
    /// A report that says nothing yet.
    pub(crate) fn new(size: u64, digest: ModuleDigest) -> Self {
        Self {
            ok: false,
            size,
            digest,
            language: None,
            sdk: None,
            faces: Vec::new(),
            handlers: Vec::new(),
            ports: Ports::default(),
            cells: Vec::new(),
            imports: Vec::new(),
            memory_floor: None,
            compile_ms: None,
            problems: Vec::new(),
            description: None,
        }
    }

    /// Takes over what the module says of itself.
    pub(crate) fn describe(&mut self, description: &Description) {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let port = |port: &Port| PortInfo {
            name: port.name.clone(),
            schema: port.schema.as_deref().and_then(|text| serde_json::from_str(text).ok()),
        };
        self.language = text(&description.language);
        self.sdk = text(&description.sdk);
        self.faces.clone_from(&description.faces);
        self.handlers = description
            .handlers
            .iter()
            .map(|h| HandlerInfo {
                name: h.name.clone(),
                doc: h.doc.clone(),
                read_only: h.read_only,
            })
            .collect();
        self.ports = Ports {
            inputs: description.inputs.iter().map(port).collect(),
            outputs: description.outputs.iter().map(port).collect(),
        };
        self.cells = description
            .cells
            .iter()
            .map(|c| CellInfo { name: c.name.clone(), kind: c.kind, version: c.version })
            .collect();
        self.description = Some(description.clone());
    }

    /// All problems in one line.
    pub(crate) fn summary(&self) -> String {
        let problems: Vec<_> =
            self.problems.iter().map(|p| format!("{} ({})", p.message, p.code)).collect();
        problems.join("; ")
    }
}
