use super::{Shape, examine, largest_function, memory_floor};

fn code(bytes: &[u8]) -> String {
    examine(bytes).unwrap_err().code
}

#[test]
fn what_is_no_webassembly_is_said_to_be_what_it_is() {
    let message = |bytes: &[u8]| {
        let problem = examine(bytes).unwrap_err();
        assert_eq!(problem.code, "not-wasm");
        problem.message
    };
    assert!(message(b"  (module)").contains("text form"));
    assert!(message(b"<!DOCTYPE html><html>").contains("HTML"));
    assert!(message(b"PK\x03\x04....").contains("zip"));
    assert!(message(&[0x1f, 0x8b, 8, 0]).contains("gzip"));
    assert!(message(b"\x7fELF\x02\x01").contains("native"));
    assert!(message(b"hello").contains("something else"));
    assert_eq!(code(b""), "empty");
}

#[test]
fn a_file_that_was_cut_off_is_told_at_every_length() {
    let whole =
        wat::parse_str("(module (memory 1) (func (export \"f\") (result i32) (i32.const 7)))")
            .unwrap();
    assert_eq!(examine(&whole), Ok(Shape::Core { metadata: false }));
    for length in 1..whole.len() {
        // Some lengths are valid: a module may end after any section, or break
        // another rule when it does.
        if let Err(problem) = examine(&whole[..length]) {
            assert!(
                matches!(problem.code.as_str(), "truncated" | "invalid"),
                "{length}: {problem:?}"
            );
        }
    }
    assert_eq!(code(&whole[..6]), "truncated");
    assert_eq!(code(&whole[..whole.len() - 1]), "truncated");
}

#[test]
fn invalid_code_is_told_with_its_offset() {
    let bytes = wat::parse_str("(module (func (result i32)))").unwrap();
    let problem = examine(&bytes).unwrap_err();
    assert_eq!(problem.code, "invalid");
    assert!(problem.message.contains("at offset"), "{}", problem.message);
    assert_eq!(code(b"\0asm\x07\0\0\0"), "invalid");
}

#[test]
fn the_memory_floor_is_of_all_memories() {
    let component =
        wat::parse_str("(component (core module (memory 3)) (component (core module (memory 2))))")
            .unwrap();
    assert_eq!(examine(&component), Ok(Shape::Component));
    assert_eq!(memory_floor(&component), 5 * 65_536);
}

#[test]
fn the_largest_function_is_found() {
    let component =
        wat::parse_str("(component (core module (func) (func nop nop nop nop) (func nop)))")
            .unwrap();
    // A count of locals, the code, and its end.
    assert_eq!(largest_function(&component), 6);
}
