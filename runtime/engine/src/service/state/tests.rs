use super::*;

const MIB: usize = 1 << 20;

/// Takes rows `key cell entry MiB` into a page and tells what became of each, then what
/// the page is.
fn check(rows: &str, expect: &expect_test::Expect) {
    let mut filling = Filling::new(3);
    let mut told = String::new();
    for line in rows.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let [key, cell, entry, mib] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let row = rows::CellRow {
            key: key.as_bytes().to_vec(),
            cell: cell.into(),
            entry: Bytes::copy_from_slice(entry.as_bytes()),
            schema: 0,
            value: vec![0; mib.parse::<usize>().unwrap() * MIB].into(),
        };
        let took = filling.take(CellKind::Map, row);
        told += &format!("{line}: {took:?}\n");
    }
    for key in &filling.page.keys {
        let cells = key.cells.keys().map(|name| format!("{name} {}", key.entries(name)));
        let cells = cells.collect::<Vec<_>>().join(", ");
        told += &format!("{:?}: {cells}; cut {:?}\n", key.key, key.cut);
    }
    expect.assert_eq(&format!("{told}more: {}", filling.page.more));
}

#[test]
fn a_page_of_keys_ends_before_it_is_too_large() {
    check(
        "k1 a x 1
         k1 a y 1
         k2 a x 1
         k2 a y 1",
        &expect_test::expect![[r#"
            k1 a x 1: Row
            k1 a y 1: Row
            k2 a x 1: Row
            k2 a y 1: NotOfPage
            b"k1": a 2; cut []
            more: true"#]],
    );
}

#[test]
fn a_key_that_is_too_large_is_cut() {
    check(
        "k1 a x 5
         k1 a y 1
         k1 b x 0
         k2 a x 0",
        &expect_test::expect![[r#"
            k1 a x 5: Row
            k1 a y 1: NotOfCell
            k1 b x 0: NotOfCell
            k2 a x 0: NotOfPage
            b"k1": a 1; cut ["a", "b"]
            more: true"#]],
    );
    check(
        "k1 a x 3
         k1 a y 3
         k1 b x 0",
        &expect_test::expect![[r#"
            k1 a x 3: Row
            k1 a y 3: NotOfCell
            k1 b x 0: Row
            b"k1": a 1, b 1; cut ["a"]
            more: false"#]],
    );
}

#[test]
fn a_page_has_as_many_keys_as_are_asked_for() {
    check(
        "k1 a x 0
         k2 a x 0
         k3 a x 0
         k4 a x 0",
        &expect_test::expect![[r#"
            k1 a x 0: Row
            k2 a x 0: Row
            k3 a x 0: Row
            k4 a x 0: NotOfPage
            b"k1": a 1; cut []
            b"k2": a 1; cut []
            b"k3": a 1; cut []
            more: true"#]],
    );
}
