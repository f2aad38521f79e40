use weir_core::description::{Description, Face, Port};

use super::problems;
use crate::testing::{describe, handler};

fn messages(change: impl FnOnce(&mut Description)) -> Vec<String> {
    let mut description = describe();
    description.faces = vec![Face::Transform, Face::Handler];
    description.handlers = vec![handler("take", false)];
    change(&mut description);
    let problems = problems(&description);
    assert!(problems.iter().all(|problem| problem.code == "descriptor-invalid"));
    problems.into_iter().map(|problem| problem.message).collect()
}

#[test]
fn a_description_by_the_rules_is_accepted() {
    assert_eq!(messages(|_| {}), [""; 0]);
}

#[test]
fn every_broken_rule_is_told() {
    let broken = messages(|d| {
        d.handlers.push(handler("Take", false));
        d.handlers.push(handler("take", false));
        d.outputs[1].name = "9lives".into();
        d.cells[0].schema = Some("{".into());
    });
    assert_eq!(broken.len(), 4, "{broken:?}");
    assert!(broken[0].contains("`Take`"));
    assert_eq!(broken[1], "Two handlers have the name `take`.");
    assert!(broken[2].contains("`9lives`"));
    assert!(broken[3].starts_with("The schema of the cell `count` is not JSON"));
}

#[test]
fn there_may_not_be_too_many_of_anything() {
    let port = |n: usize| Port { name: format!("p{n}"), doc: String::new(), schema: None };
    assert_eq!(messages(|d| d.inputs = (0..256).map(port).collect()), [""; 0]);
    assert_eq!(
        messages(|d| d.inputs = (0..257).map(port).collect()),
        ["It declares 257 inputs; 256 are allowed."]
    );
    let long = "n".repeat(64);
    assert_eq!(messages(|d| d.cells[0].name = long).len(), 1);
}

#[test]
fn handlers_and_their_face_go_together() {
    assert_eq!(messages(|d| d.handlers.clear()).len(), 1);
    assert_eq!(messages(|d| d.faces = vec![Face::Transform]).len(), 1);
    let deaf = messages(|d| {
        d.handlers[0].takes_calls = false;
        d.handlers[0].takes_events = false;
    });
    assert_eq!(deaf, ["The handler `take` takes neither events nor calls."]);
}
