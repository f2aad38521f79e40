//! Text -> a tree of nodes with their places.
//!
//! YAML 1.2, of which JSON is a part. The tree is built from the parser's events
//! and not by its loader, for three reasons: every problem is reported and not
//! only the first, places of mapping keys are kept, and a hostile file cannot grow
//! without bound (size, depth, number of nodes with aliases expanded).

use std::{borrow::Cow, collections::HashMap};

use saphyr::Scalar;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};

use super::diagnostic::{Place, Problems};

/// The largest file, in bytes.
pub(super) const FILE_BYTES_MAX: usize = 1 << 20;
/// How deep values may be nested.
const DEPTH_MAX: usize = 64;
/// The most nodes, each alias counted as what it stands for.
const NODES_MAX: usize = 200_000;

/// A node of the file.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Scalar(Text),
    Sequence(Vec<Node>),
    /// In the order of the file, no name twice.
    Mapping(Vec<(Name, Node)>),
}

/// A scalar: as it is written, and what it means by the core schema.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) written: String,
    pub(super) meaning: Scalar<'static>,
}

/// A name in a mapping.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) place: Place,
    pub(super) text: String,
}

impl Node {
    /// What kind of thing it is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
            Value::Scalar(text) => match text.meaning {
                Scalar::Null => "nothing",
                Scalar::Boolean(_) => "a boolean",
                Scalar::Integer(_) | Scalar::FloatingPoint(_) => "a number",
                Scalar::String(_) => "a string",
            },
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(Text { meaning: Scalar::Null, .. }))
    }
}

/// Builds the tree. `None` if there is none; a problem then says why.
pub(super) fn parse(text: &str, problems: &mut Problems) -> Option<Node> {
    let start = Place { line: 1, column: 1 };
    if text.len() > FILE_BYTES_MAX {
        problems
            .error(start, "", "too-large", format!("The file has {} bytes.", text.len()))
            .help(format!("keep it below {FILE_BYTES_MAX} bytes"));
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = &*json_escapes(text);
    let mut builder =
        Builder { problems, open: Vec::new(), anchors: HashMap::new(), nodes: 0, document: None };
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let step = match event {
            Ok((event, span)) => builder.on_event(event, place(&span.start)),
            Err(error) => {
                builder.syntax(&error);
                Err(Stop)
            }
        };
        if step.is_err() {
            return None;
        }
    }
    let document = builder.document;
    if document.is_none() {
        problems
            .error(start, "", "syntax", "The file is empty.")
            .help("begin with `pipeline:` and a name");
    }
    document
}

/// The tree cannot be built on; a problem says why.
struct Stop;

struct Builder<'p> {
    problems: &'p mut Problems,
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
    document: Option<Node>,
}

/// A list or mapping whose end has not come.
struct Open {
    place: Place,
    anchor: usize,
    nodes_before: usize,
    content: Content,
}

enum Content {
    Sequence(Vec<Node>),
    Mapping { entries: Vec<(Name, Node)>, lines: HashMap<String, u32>, name: Option<Pending> },
}

/// A name whose value has not come. One that cannot be used takes its value with
/// it.
enum Pending {
    Name(Name),
    Unusable,
}

impl Builder<'_> {
    fn on_event(&mut self, event: Event<'_>, place: Place) -> Result<(), Stop> {
        match event {
            Event::Scalar(written, style, anchor, tag) => {
                self.count(place, 1)?;
                let meaning = self.meaning(&written, style, tag.as_deref(), place);
                let text = Text { written: written.into_owned(), meaning };
                self.complete(Node { place, value: Value::Scalar(text) }, anchor, 1)
            }
            Event::SequenceStart(anchor, tag) => {
                self.open(place, anchor, tag.as_deref(), Content::Sequence(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => self.open(
                place,
                anchor,
                tag.as_deref(),
                Content::Mapping { entries: Vec::new(), lines: HashMap::new(), name: None },
            ),
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                let value = match open.content {
                    Content::Sequence(elements) => Value::Sequence(elements),
                    Content::Mapping { entries, .. } => Value::Mapping(entries),
                };
                let nodes = self.nodes - open.nodes_before;
                self.complete(Node { place: open.place, value }, open.anchor, nodes)
            }
            Event::Alias(anchor) => {
                let Some((node, nodes)) = self.anchors.get(&anchor) else {
                    self.problems.error(
                        place,
                        "",
                        "syntax",
                        "An alias stands inside of what it names.",
                    );
                    return Err(Stop);
                };
                let (node, nodes) = (node.clone(), *nodes);
                self.count(place, nodes)?;
                self.complete(Node { place, ..node }, 0, nodes)
            }
            Event::DocumentStart(_) if self.document.is_some() => {
                self.problems
                    .error(place, "", "syntax", "The file has more than one document.")
                    .help("keep one pipeline in a file, and remove the line `---`");
                Err(Stop)
            }
            _ => Ok(()),
        }
    }

    fn open(
        &mut self,
        place: Place,
        anchor: usize,
        tag: Option<&Tag>,
        content: Content,
    ) -> Result<(), Stop> {
        self.refuse_own_tag(tag, place);
        if self.open.len() >= DEPTH_MAX {
            self.problems.error(
                place,
                "",
                "too-large",
                format!("Values are nested more than {DEPTH_MAX} deep."),
            );
            return Err(Stop);
        }
        let nodes_before = self.nodes;
        self.count(place, 1)?;
        self.open.push(Open { place, anchor, nodes_before, content });
        Ok(())
    }

    /// A node is complete: it goes into what is open, or is the document.
    fn complete(&mut self, node: Node, anchor: usize, nodes: usize) -> Result<(), Stop> {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), nodes));
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.document = Some(node),
            Some(Content::Sequence(elements)) => elements.push(node),
            Some(Content::Mapping { entries, lines, name }) => match name.take() {
                None => {
                    *name = Some(match node.value {
                        Value::Scalar(text) => {
                            Pending::Name(Name { place: node.place, text: text.written })
                        }
                        _ => {
                            self.problems
                                .error(
                                    node.place,
                                    "",
                                    "wrong-type",
                                    "A name is a list or a mapping.",
                                )
                                .help("write a word before the `:`");
                            Pending::Unusable
                        }
                    });
                }
                Some(Pending::Unusable) => {}
                Some(Pending::Name(name)) => {
                    let line = *lines.entry(name.text.clone()).or_insert(name.place.line);
                    if lines.len() > entries.len() {
                        entries.push((name, node));
                    } else {
                        let path = self.path();
                        self.problems
                            .error(
                                name.place,
                                &path,
                                "duplicate-name",
                                format!("`{}` stands here twice.", name.text),
                            )
                            .help(format!("it is already in line {line}"));
                    }
                }
            },
        }
        Ok(())
    }

    /// The names on the way to where the builder is.
    fn path(&self) -> String {
        let names: Vec<_> = self
            .open
            .iter()
            .filter_map(|open| match &open.content {
                Content::Sequence(elements) => Some(elements.len().to_string()),
                Content::Mapping { name: Some(Pending::Name(name)), .. } => Some(name.text.clone()),
                Content::Mapping { .. } => None,
            })
            .collect();
        names.join(".")
    }

    fn meaning(
        &mut self,
        written: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        place: Place,
    ) -> Scalar<'static> {
        self.refuse_own_tag(tag, place);
        let tag = tag.map(Cow::Borrowed);
        match Scalar::parse_from_cow_and_metadata(Cow::Borrowed(written), style, tag.as_ref()) {
            Some(scalar) => owned(scalar),
            None => {
                self.problems.error(
                    place,
                    "",
                    "wrong-type",
                    format!("`{written}` is not what its tag says."),
                );
                Scalar::Null
            }
        }
    }

    fn refuse_own_tag(&mut self, tag: Option<&Tag>, place: Place) {
        if let Some(tag) = tag.filter(|tag| !tag.is_yaml_core_schema()) {
            self.problems
                .error(place, "", "syntax", format!("The tag `{tag}` has no meaning here."))
                .help("remove the tag");
        }
    }

    fn count(&mut self, place: Place, nodes: usize) -> Result<(), Stop> {
        self.nodes += nodes;
        if self.nodes > NODES_MAX {
            self.problems.error(
                place,
                "",
                "too-large",
                format!("The file has more than {NODES_MAX} values, aliases expanded."),
            );
            return Err(Stop);
        }
        Ok(())
    }

    fn syntax(&mut self, error: &ScanError) {
        self.problems
            .error(
                place(error.marker()),
                "",
                "syntax",
                format!("The file is not valid YAML: {}.", error.info()),
            )
            .help("mind the indentation and the quotes here and in the line before");
    }
}

/// JSON writes characters beyond U+FFFF as two escapes, which YAML does not know:
/// `\ud83d\ude00` becomes `\U0001f600`. Columns after one in its line are two less.
fn json_escapes(text: &str) -> Cow<'_, str> {
    let is_json = || {
        text.trim_start().starts_with('{')
            && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    };
    if !(text.contains("\\ud") || text.contains("\\uD")) || !is_json() {
        return Cow::Borrowed(text);
    }
    let unit = |text: &str| {
        let hex = text.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(hex, 16).ok()
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.find('\\').map(|at| rest.split_at(at)) {
        out.push_str(before);
        let pair = unit(escape).zip(escape.get(6..).and_then(unit));
        let decoded = pair.and_then(|(high, low)| char::decode_utf16([high, low]).next()?.ok());
        let taken = match decoded.filter(|c| *c > '\u{ffff}') {
            Some(c) => {
                out.push_str(&format!("\\U{:08x}", u32::from(c)));
                12
            }
            None => {
                out.push_str(escape.get(..2).unwrap_or(escape));
                2
            }
        };
        rest = escape.get(taken..).unwrap_or_default();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn place(marker: &Marker) -> Place {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place { line: number(marker.line()), column: number(marker.col()).saturating_add(1) }
}

fn owned(scalar: Scalar<'_>) -> Scalar<'static> {
    match scalar {
        Scalar::Null => Scalar::Null,
        Scalar::Boolean(value) => Scalar::Boolean(value),
        Scalar::Integer(value) => Scalar::Integer(value),
        Scalar::FloatingPoint(value) => Scalar::FloatingPoint(value),
        Scalar::String(value) => Scalar::String(Cow::Owned(value.into_owned())),
    }
}
