//! Guests written by hand against the canonical ABI.
//!
//! A guest is a core module with the world embedded: the host makes it a component.
//! Its memory begins with what `describe` gives, laid out here; behind that is a
//! heap that only grows.

use weir_core::description::{Cell, CellKind, Description, Handler, Port};
use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Where the description lies.
const BASE: u32 = 1 << 10;

/// Where texts for the guest's own use may lie: below the description.
const HEAP: u32 = 32 << 10;

/// A description with one of everything.
pub(crate) fn describe() -> Description {
    let port = |name: &str| Port { name: name.into(), doc: String::new(), schema: None };
    let cell =
        |name: &str, kind| Cell { name: name.into(), kind, version: 1, ttl_ms: None, schema: None };
    Description {
        doc: "A guest of a test.".into(),
        sdk: "wat 1".into(),
        language: "wat".into(),
        inputs: vec![port("in")],
        outputs: vec![port("out"), port("late")],
        cells: vec![cell("count", CellKind::Value), cell("seen", CellKind::Map)],
        ..Description::default()
    }
}

/// A handler for events and calls.
pub(crate) fn handler(name: &str, read_only: bool) -> Handler {
    Handler {
        name: name.into(),
        doc: String::new(),
        takes_events: true,
        takes_calls: true,
        read_only,
        input_schema: None,
        output_schema: None,
    }
}

/// A guest with the transform face. The body defines `$process` (takes the address
/// of the batch, gives that of the result) and may use `$alloc`, `$pass` (gives
/// the input on as it is) and the imports of its own in `imports`.
pub(crate) fn transform_guest(description: &Description, imports: &str, body: &str) -> Vec<u8> {
    let wat = format!(
        r#"(module
            {imports}
            {common}
            (func $pass (param $batch i32) (result i32)
                (local $out i32) (local $n i32) (local $i i32) (local $causes i32)
                (local.set $out (call $alloc (i32.const 84)))
                (local.set $n (i32.load offset=36 (local.get $batch)))
                (local.set $causes (call $alloc (i32.mul (local.get $n) (i32.const 4))))
                (i64.store offset=28 align=4 (local.get $out) (i64.load offset=24 align=4 (local.get $batch)))
                (i64.store offset=36 align=4 (local.get $out) (i64.load offset=32 align=4 (local.get $batch)))
                (i32.store offset=52 (local.get $out) (local.get $causes))
                (i32.store offset=56 (local.get $out) (local.get $n))
                (block $done (loop $next
                    (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
                    (i32.store (i32.add (local.get $causes) (i32.mul (local.get $i) (i32.const 4))) (local.get $i))
                    (local.set $i (i32.add (local.get $i) (i32.const 1)))
                    (br $next)))
                (local.get $out))
            {body}
            (export "weir:operator/transform@0.1.0#process" (func $process)))"#,
        common = common(description),
    );
    module_of(
        &wat,
        "import weir:operator/log@0.1.0; import weir:operator/batch-state@0.1.0; \
        import weir:operator/context@0.1.0; export weir:operator/descriptor@0.1.0; \
        export weir:operator/transform@0.1.0;",
    )
}

/// A guest with the handler face. Handler 0 gives its value back at once.
/// Handler 1 calls `a.b` with its key as the value and gives back the answer.
/// Handler 2 does so and traps when the answer comes. Handler 3 puts its value
/// into cell 0 and keeps its handle. Handler 4 puts its value into cell 0 by the
/// handle that was kept last. Handler 5 runs for ever once it has an answer.
pub(crate) fn handler_guest(description: &Description) -> Vec<u8> {
    let wat = format!(
        r#"(module
            (import "weir:operator/calls@0.1.0" "[async-lower]call" (func $call (param i32 i32) (result i32)))
            (import "weir:operator/state@0.1.0" "put" (func $put (param i32 i32 i32 i32)))
            (import "weir:operator/invocations@0.1.0" "[resource-drop]invocation" (func $drop (param i32)))
            (import "[export]weir:operator/handler@0.1.0" "[task-return]handle"
                (func $return (param i32 i32 i32 i32 i32 i32 i32)))
            (import "$root" "[waitable-set-new]" (func $set-new (result i32)))
            (import "$root" "[waitable-join]" (func $join (param i32 i32)))
            (import "$root" "[subtask-drop]" (func $subtask-drop (param i32)))
            (import "$root" "[context-set-0]" (func $context-set (param i32)))
            (import "$root" "[context-get-0]" (func $context-get (result i32)))
            {common}
            (data (i32.const 16) "ab")
            (global $kept (mut i32) (i32.const 0))
            (func $give (param $value i32) (param $length i32)
                (call $return (i32.const 0) (local.get $value) (local.get $length)
                    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
            (func (export "[async-lift]weir:operator/handler@0.1.0#handle")
                (param $inv i32) (param $handler i32) (param i32 i32 i32 i32)
                (param $key i32) (param $key-length i32) (param $value i32) (param $length i32)
                (param i64 i32 i32) (result i32)
                (local $task i32) (local $status i32) (local $set i32)
                (if (i32.eqz (local.get $handler)) (then
                    (call $drop (local.get $inv))
                    (call $give (local.get $value) (local.get $length))
                    (return (i32.const 0))))
                (if (i32.eq (local.get $handler) (i32.const 3)) (then
                    (call $put (local.get $inv) (i32.const 0) (local.get $value) (local.get $length))
                    (global.set $kept (local.get $inv))
                    (call $give (i32.const 0) (i32.const 0))
                    (return (i32.const 0))))
                (if (i32.eq (local.get $handler) (i32.const 4)) (then
                    (call $put (global.get $kept) (i32.const 0) (local.get $value) (local.get $length))
                    (call $give (i32.const 0) (i32.const 0))
                    (return (i32.const 0))))
                ;; 0: invocation, 4: handler, 8: answer (24), 32: arguments (72)
                (local.set $task (call $alloc (i32.const 104)))
                (i32.store (local.get $task) (local.get $inv))
                (i32.store offset=4 (local.get $task) (local.get $handler))
                (i32.store offset=32 (local.get $task) (local.get $inv))
                (i32.store offset=40 (local.get $task) (i32.const 16))
                (i32.store offset=44 (local.get $task) (i32.const 1))
                (i32.store offset=48 (local.get $task) (i32.const 17))
                (i32.store offset=52 (local.get $task) (i32.const 1))
                (i32.store offset=68 (local.get $task) (local.get $key))
                (i32.store offset=72 (local.get $task) (local.get $key-length))
                (local.set $status (call $call
                    (i32.add (local.get $task) (i32.const 32)) (i32.add (local.get $task) (i32.const 8))))
                (local.set $set (call $set-new))
                (call $join (i32.shr_u (local.get $status) (i32.const 4)) (local.get $set))
                (call $context-set (local.get $task))
                (i32.or (i32.shl (local.get $set) (i32.const 4)) (i32.const 2)))
            (func (export "[callback][async-lift]weir:operator/handler@0.1.0#handle")
                (param $event i32) (param $subtask i32) (param i32) (result i32)
                (local $task i32)
                (local.set $task (call $context-get))
                (if (i32.eq (i32.load offset=4 (local.get $task)) (i32.const 2)) (then unreachable))
                (if (i32.eq (i32.load offset=4 (local.get $task)) (i32.const 5)) (then (loop $ever (br $ever))))
                (call $subtask-drop (local.get $subtask))
                (call $drop (i32.load (local.get $task)))
                ;; result<list<u8>, failure>: the code of a failure is given back as a value
                (if (i32.load8_u offset=8 (local.get $task))
                    (then (call $give (i32.load offset=16 (local.get $task)) (i32.load offset=20 (local.get $task))))
                    (else (call $give (i32.load offset=12 (local.get $task)) (i32.load offset=16 (local.get $task)))))
                (i32.const 0)))"#,
        common = common(description),
    );
    module_of(
        &wat,
        "import weir:operator/log@0.1.0; import weir:operator/state@0.1.0; \
        import weir:operator/calls@0.1.0; export weir:operator/descriptor@0.1.0; \
        export weir:operator/handler@0.1.0;",
    )
}

/// A core module from text, with a world embedded.
pub(crate) fn module_of(wat: &str, world: &str) -> Vec<u8> {
    let mut module = wat::parse_str(wat).unwrap();
    let mut resolve = Resolve::default();
    resolve.push_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit")).unwrap();
    let package = resolve
        .push_str("guest.wit", &format!("package test:guest; world guest {{ {world} }}"))
        .unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    module
}

/// Memory, a heap, and `describe`.
fn common(description: &Description) -> String {
    let mut image = Image::new();
    let at = image.description(description);
    let data: String = image.bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
    format!(
        r#"(memory (export "memory") 2)
            (data (i32.const {BASE}) "{data}")
            (global $heap (mut i32) (i32.const {HEAP}))
            (func $alloc (param $size i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
                (global.set $heap (i32.add (local.get $at) (local.get $size)))
                (if (i32.gt_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536)))
                    (then (drop (memory.grow (i32.add (i32.const 4) (i32.shr_u (local.get $size) (i32.const 16)))))))
                (local.get $at))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (call $alloc (local.get 3)))
            (func (export "weir:operator/descriptor@0.1.0#describe") (result i32) (i32.const {at}))"#
    )
}

/// Values laid out as the canonical ABI says.
struct Image {
    bytes: Vec<u8>,
}

impl Image {
    fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Puts bytes at a multiple of 8 and gives their address.
    fn put(&mut self, bytes: &[u8]) -> u32 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let at = BASE + self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        assert!(BASE as usize + self.bytes.len() < HEAP as usize);
        at
    }

    fn text(&mut self, text: &str) -> [u32; 2] {
        [self.put(text.as_bytes()), text.len() as u32]
    }

    fn optional(&mut self, text: Option<&str>) -> [u32; 3] {
        match text {
            Some(text) => {
                let [at, length] = self.text(text);
                [1, at, length]
            }
            None => [0; 3],
        }
    }

    fn list(&mut self, items: Vec<Vec<u32>>) -> [u32; 2] {
        let n = items.len() as u32;
        [self.words(&items.concat()), n]
    }

    fn words(&mut self, words: &[u32]) -> u32 {
        self.put(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())
    }

    fn description(&mut self, d: &Description) -> u32 {
        let mut words = Vec::new();
        words.extend(self.text(&d.doc));
        words.extend(self.text(&d.sdk));
        words.extend(self.text(&d.language));
        let handlers = d.handlers.iter().map(|handler| self.handler(handler)).collect();
        words.extend(self.list(handlers));
        for ports in [&d.inputs, &d.outputs] {
            let ports = ports.iter().map(|port| self.port(port)).collect();
            words.extend(self.list(ports));
        }
        let cells = d.cells.iter().map(|cell| self.cell(cell)).collect();
        words.extend(self.list(cells));
        words.extend(self.optional(d.config_schema.as_deref()));
        let hosts = d.wanted_hosts.iter().map(|host| self.text(host).to_vec()).collect();
        words.extend(self.list(hosts));
        self.words(&words)
    }

    fn handler(&mut self, handler: &Handler) -> Vec<u32> {
        let flags =
            [handler.takes_events, handler.takes_calls, handler.read_only, false].map(u8::from);
        let mut words = Vec::new();
        words.extend(self.text(&handler.name));
        words.extend(self.text(&handler.doc));
        words.push(u32::from_le_bytes(flags));
        words.extend(self.optional(handler.input_schema.as_deref()));
        words.extend(self.optional(handler.output_schema.as_deref()));
        words
    }

    fn port(&mut self, port: &Port) -> Vec<u32> {
        let mut words = Vec::new();
        words.extend(self.text(&port.name));
        words.extend(self.text(&port.doc));
        words.extend(self.optional(port.schema.as_deref()));
        words
    }

    fn cell(&mut self, cell: &Cell) -> Vec<u32> {
        let kinds = [CellKind::Value, CellKind::Map, CellKind::List, CellKind::Counter];
        let kind = kinds.iter().position(|kind| *kind == cell.kind).unwrap() as u32;
        let ttl = cell.ttl_ms.unwrap_or(0);
        let mut words = Vec::new();
        words.extend(self.text(&cell.name));
        words.extend([
            kind,
            cell.version,
            cell.ttl_ms.is_some().into(),
            0,
            ttl as u32,
            (ttl >> 32) as u32,
        ]);
        words.extend(self.optional(cell.schema.as_deref()));
        words.push(0);
        words
    }
}
