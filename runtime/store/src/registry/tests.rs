use std::path::Path;

use super::*;
use crate::{
    Options, SimDisk, ViewKind,
    store::tests::{Promise, ROOT, StillClock},
};

struct Fixture {
    disk: SimDisk,
    store: Arc<Store>,
    registry: Registry,
}

impl Fixture {
    fn open(disk: SimDisk) -> Self {
        let clock = Arc::new(StillClock::default());
        let store = Store::open(
            Path::new(ROOT),
            Arc::new(disk.clone()),
            ViewKind::Memory,
            clock,
            Options::default(),
        )
        .unwrap();
        Self { registry: Registry::new(store.clone()), disk, store }
    }

    fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Registry, Answer<T>),
    ) -> Result<T, StoreError> {
        let (promise, done) = Promise::new();
        ask(&self.registry, done);
        while self.store.step() {}
        promise.get().expect("answered")
    }

    fn put(
        &self,
        name: &str,
        version: &str,
        bytes: &'static [u8],
    ) -> Result<(ModuleEntry, Stored), StoreError> {
        let name = name.parse().unwrap();
        self.ask(|registry, done| {
            registry.put_module(&name, version, Bytes::from_static(bytes), "meta".into(), done)
        })
    }

    fn put_pipeline(&self, document: &'static str, status: Option<&'static str>) -> PipelineEntry {
        let name = "p".parse().unwrap();
        self.ask(|registry, done| {
            registry.put_pipeline(&name, document.into(), status.map(Bytes::from), done)
        })
        .unwrap()
    }
}

#[test]
fn a_module_is_kept_with_its_bytes() {
    let fixture = Fixture::open(SimDisk::new(1));
    let (entry, stored) = fixture.put("order", "1.0.0", b"wasm").unwrap();
    assert_eq!((stored, entry.bytes), (Stored::New, 4));
    assert_eq!(fixture.put("order", "1.0.0", b"wasm").unwrap().1, Stored::Known);
    let conflict = fixture.put("order", "1.0.0", b"other").unwrap_err();
    assert!(
        matches!(conflict, StoreError::ModuleConflict { digest, .. } if digest == entry.digest)
    );
    fixture.put("order", "1.1.0", b"newer").unwrap();
    fixture.put("copy", "1", b"wasm").unwrap();
    fixture.disk.crash();

    let fixture = Fixture::open(fixture.disk);
    let registry = &fixture.registry;
    assert_eq!(registry.module(&entry.name, "1.0.0").unwrap(), Some(entry.clone()));
    assert_eq!(registry.module(&entry.name, "2.0.0").unwrap(), None);
    let names: Vec<String> =
        registry.modules().unwrap().iter().map(|m| format!("{}@{}", m.name, m.version)).collect();
    assert_eq!(names, ["copy@1", "order@1.0.0", "order@1.1.0"]);
    assert_eq!(registry.modules_of(&entry.digest).unwrap().len(), 2);
    assert_eq!(registry.module_bytes(&entry.digest).unwrap(), "wasm");

    let delete = |name: &str, version: &str| {
        let name = name.parse().unwrap();
        fixture.ask(|registry, done| registry.delete_module(&name, version, done)).unwrap()
    };
    assert!(delete("order", "1.0.0"));
    assert!(!delete("order", "1.0.0"));
    assert_eq!(registry.module_bytes(&entry.digest).unwrap(), "wasm");
    assert!(delete("copy", "1"));
    assert!(matches!(registry.module_bytes(&entry.digest), Err(StoreError::Unknown { .. })));
}

#[test]
fn changed_bytes_of_a_module_are_found() {
    let fixture = Fixture::open(SimDisk::new(1));
    let (entry, _) = fixture.put("order", "1.0.0", b"wasm").unwrap();
    fixture.disk.flip(&module_path(&fixture.store, &entry.digest), 2, 2);
    assert!(matches!(
        fixture.registry.module_bytes(&entry.digest),
        Err(StoreError::Damaged { .. })
    ));
}

#[test]
fn a_pipeline_has_revisions() {
    let fixture = Fixture::open(SimDisk::new(1));
    assert_eq!(fixture.put_pipeline("one", Some("running")).revision, 1);
    let second = fixture.put_pipeline("two", None);
    assert_eq!((second.revision, second.status.as_ref()), (2, b"running".as_slice()));
    let name: PipelineName = "p".parse().unwrap();
    let paused = fixture
        .ask(|registry, done| registry.set_pipeline_status(&name, "paused".into(), done))
        .unwrap();
    assert_eq!((paused.revision, paused.status.as_ref()), (2, b"paused".as_slice()));
    fixture.disk.crash();

    let fixture = Fixture::open(fixture.disk);
    let registry = &fixture.registry;
    assert_eq!(registry.pipelines().unwrap(), [paused]);
    let documents: Vec<Bytes> =
        registry.revisions(&name).unwrap().into_iter().map(|r| r.document).collect();
    assert_eq!(documents, ["one", "two"]);
    assert_eq!(registry.revision(&name, 1).unwrap().unwrap().document, "one");
    assert_eq!(registry.revision(&name, 3).unwrap(), None);
    assert!(fixture.ask(|registry, done| registry.delete_pipeline(&name, done)).unwrap());
    assert!(!fixture.ask(|registry, done| registry.delete_pipeline(&name, done)).unwrap());
    assert!(registry.revisions(&name).unwrap().is_empty());
    let unknown =
        fixture.ask(|registry, done| registry.set_pipeline_status(&name, "x".into(), done));
    assert!(matches!(unknown, Err(StoreError::Unknown { what: "pipeline", .. })));
}
