//! The parser against serde_json: many types, many texts, most of them damaged.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt::Debug,
};

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::{Value, value::RawValue};

use super::{parser::Parser, read};

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Bid {
    bidder: u64,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Event {
    bid: Option<Bid>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Strict {
    a: i32,
    #[serde(default)]
    b: Vec<bool>,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Borrowing<'a> {
    #[serde(borrow)]
    name: &'a str,
    #[serde(borrow)]
    cow: Option<Cow<'a, str>>,
    c: Option<char>,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Flat {
    a: Option<f64>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Raw<'a> {
    #[serde(borrow)]
    a: Option<&'a RawValue>,
    b: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code)]
enum External {
    Unit,
    Newtype(i64),
    Tuple(u8, Option<String>),
    Struct { a: f32 },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[allow(dead_code)]
enum Internal {
    Unit,
    Struct { a: f64 },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "t", content = "c", rename_all = "lowercase")]
#[allow(dead_code)]
enum Adjacent {
    Unit,
    Newtype(Vec<i128>),
    Struct { a: u16 },
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[allow(dead_code)]
enum Untagged {
    Number(i64),
    Float(f64),
    Text(String),
    Pair(bool, bool),
    Struct { a: u64 },
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code)]
enum Name {
    A,
    B,
    Bid,
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Newtype<T>(T);

#[derive(Debug, Deserialize)]
struct UnitStruct;

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Tree {
    a: Vec<Tree>,
}

/// A type that passes over an error, and reads on.
#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Lenient {
    #[serde(default, deserialize_with = "or_default")]
    a: u64,
    #[serde(default, deserialize_with = "or_default")]
    b: Vec<u8>,
}

fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(T::deserialize(deserializer).unwrap_or_default())
}

/// Reads nothing at all.
#[derive(Debug)]
struct Nothing;

impl<'de> Deserialize<'de> for Nothing {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}

/// Both agree on a text as a type, in value and in error.
fn check<'a, T: Deserialize<'a> + Debug>(text: &'a [u8]) {
    fn shown<T: Debug>(result: serde_json::Result<T>) -> Result<String, String> {
        result.map(|value| format!("{value:?}")).map_err(|error| error.to_string())
    }
    let about = || format!("{} from {}", std::any::type_name::<T>(), text.escape_ascii());
    assert_eq!(
        shown(super::from_slice::<T>(text)),
        shown(serde_json::from_slice::<T>(text)),
        "{}",
        about()
    );
    if let Ok(text) = std::str::from_utf8(text) {
        let (ours, theirs) = (super::from_str::<T>(text), serde_json::from_str::<T>(text));
        assert_eq!(shown(ours), shown(theirs), "str, {}", about());
    }
}

/// As [`check`], for every type of these tests.
fn check_all(text: &[u8]) {
    macro_rules! types {
        ($($of:ty),+ $(,)?) => { $(check::<$of>(text);)+ };
    }
    types!(
        (), bool, char, String, &str, u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, f32, f64,
        &[u8], Value, serde_json::Number, serde_json::Map<String, Value>, IgnoredAny, &RawValue,
        Cow<'_, str>, Option<u64>, Option<Option<String>>, Vec<u64>, Vec<f64>, Vec<Value>,
        Vec<Option<i8>>, Vec<()>, Vec<Nothing>, Vec<IgnoredAny>, [u8; 2], (u8, String), (i64,),
        (IgnoredAny, f64), Event, Bid, Vec<Bid>, Strict, Borrowing<'_>, Flat, Raw<'_>, External,
        Vec<External>, Internal, Adjacent, Untagged, Vec<Untagged>, Name, Newtype<u64>,
        Newtype<Newtype<Option<f64>>>, UnitStruct, Tree, Lenient, Nothing,
        BTreeMap<String, i64>, BTreeMap<&str, IgnoredAny>, BTreeMap<u64, Value>,
        BTreeMap<i8, u8>, BTreeMap<i128, IgnoredAny>, BTreeMap<u128, IgnoredAny>,
        BTreeMap<char, Value>, BTreeMap<Name, Value>,
        BTreeMap<Newtype<u32>, Value>, BTreeMap<Option<String>, Value>,
        BTreeMap<Newtype<String>, Event>,
    );
    // From a str, serde_json looks for a bool from within a longer character.
    if text.is_ascii() {
        check::<BTreeMap<bool, Value>>(text);
    }
    // Only numbers; a hash map has no order to compare by.
    if let Ok(map) = super::from_slice::<HashMap<String, f32>>(text) {
        assert_eq!(Ok(map), serde_json::from_slice(text).map_err(|error| error.to_string()));
    }
}

const TEXTS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "-1",
    "7.5",
    "-0.0",
    "1e3",
    "1E+3",
    "1e-3",
    "1.5e300",
    "1e400",
    "-1e400",
    "0e999999999999",
    "01",
    "-01",
    "1.",
    ".5",
    "1e",
    "+1",
    "- 1",
    "255",
    "256",
    "-128",
    "-129",
    "4294967296",
    "12345678",
    "123456789",
    "1234567890123456",
    "12345678901234567",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211455",
    "340282366920938463463374607431768211456",
    "-170141183460469231731687303715884105728",
    "0.1000000000000000055511151231257827",
    "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880",
    r#""""#,
    r#""a""#,
    r#""name""#,
    r#""ab\"c""#,
    r#""\u00e9\ud83d\ude00""#,
    r#""\ud83d""#,
    r#""\ude00""#,
    r#""\ud83dx""#,
    r#""\ud83d\n""#,
    r#""\u12g4""#,
    r#""\x""#,
    "\"é😀\"",
    "\"a\tb\"",
    r#""0123456789abcdef""#,
    r#""0123456789abcde\\""#,
    r#""1""#,
    r#""true""#,
    "[]",
    "[1,2]",
    "[ 1 , 2 ]",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[[],[[]],{}]",
    "[1.5,\"x\"]",
    "[7,\"x\"]",
    "[null,5]",
    "[true,false]",
    "[3,[true]]",
    "[[1],[2]]",
    "{}",
    "{ }",
    r#"{"a":1}"#,
    r#"{"a":1,}"#,
    r#"{"a":1,"a":2}"#,
    r#"{"a":1.5,"b":[true],"c":{"d":null}}"#,
    r#"{"a":"x","b":{"y":[1,2]}}"#,
    r#"{"a":-1,"b":[1,256]}"#,
    r#"{"a" : 1 , "b" : [ ] }"#,
    r#"{"\u0061":1}"#,
    r#"{a:1}"#,
    r#"{"1":1,"2":2}"#,
    r#"{"-1":1,"200":2}"#,
    r#"{" 1":1}"#,
    r#"{"1 ":1}"#,
    r#"{"1.5":1}"#,
    r#"{"01":1}"#,
    r#"{"true":1,"false":0}"#,
    r#"{"true ":1}"#,
    r#"{"x":1,"é":2}"#,
    r#"{"name":"n","cow":"a\nb","c":"é"}"#,
    r#"{"name":"n\n"}"#,
    r#"{"name":"n","cow":null,"c":""}"#,
    r#"{"bid":null}"#,
    r#"{"bid":{"bidder":1000}}"#,
    r#"{"bidder":"x"}"#,
    r#"{"bidder":1,"bidder":2}"#,
    r#"{"k":2,"ts":1700000000099,"bid":{"auction":1000,"bidder":1000,"price":2.07,"channel":"Google","url":"https://x.example/?q=\"1\"","extra":[{"a":[]},[],{}]}}"#,
    r#"{"bid":{"bidder":12,"nested":{"a":[1,{"b":"]}"}],"c":-0.5e-7,"d":"\\\"\u00e9"}}}"#,
    "{\n  \"bid\": {\n\t\"bidder\" : 5\r\n  }\n}\n",
    r#""unit""#,
    r#"{"unit":null}"#,
    r#"{"newtype":-5}"#,
    r#"{"tuple":[1,"x"]}"#,
    r#"{"struct":{"a":1}}"#,
    r#"{"struct":{"a":1},"x":1}"#,
    r#"["unit",{"newtype":1},{"struct":{"a":0.1}}]"#,
    r#"{"type":"unit"}"#,
    r#"{"a":2,"type":"struct"}"#,
    r#"{"t":"unit"}"#,
    r#"{"t":"newtype","c":[1,-2]}"#,
    r#"{"c":{"a":7},"t":"struct"}"#,
    r#"{"a":[{"a":[]},{"a":[{"a":[]}]}]}"#,
    r#"{"a":{"x":[1]},"b":{}}"#,
    r#"{"a":"x","b":"y"}"#,
    "",
    " ",
    "nul",
    "nullx",
    "truefalse",
    "1 2",
    "{}{}",
    "[]]",
    "\u{feff}1",
    "\"",
    "{",
    "[",
    "{\"a\"",
];

/// A small generator: xorshift64* (Marsaglia 2003, Vigna 2016).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Some JSON, most of it with names and values that the types know.
    fn value(&mut self, depth: usize) -> String {
        let space = self.of(&["", "", "", "", " ", "\n", "\t ", "         "]);
        let value = match self.below(if depth == 0 { 3 } else { 6 }) {
            0..=2 => self.of(TEXTS).to_owned(),
            3 => {
                let items: Vec<_> = (0..self.below(4)).map(|_| self.value(depth - 1)).collect();
                format!("[{}]", items.join(","))
            }
            _ => {
                let names = ["a", "b", "c", "t", "type", "name", "bid", "bidder", "1", "-2", "xyz"];
                let members: Vec<_> = (0..self.below(5))
                    .map(|_| format!("\"{}\":{}", self.of(&names), self.value(depth - 1)))
                    .collect();
                format!("{{{}}}", members.join(","))
            }
        };
        format!("{space}{value}{space}")
    }

    /// Does one small damage.
    fn damage(&mut self, text: &mut Vec<u8>) {
        let at = self.below(text.len() + 1);
        let byte = self.of(b"\"\\[]{},:0123456789-+.eEtfnu aA \n\t\x00\x1f\x7f\x80\xc3\xa9\xff");
        match self.below(6) {
            0 => text.truncate(at),
            1 => text.insert(at, byte),
            2 if at < text.len() => text[at] = byte,
            3 if at < text.len() => text[at] ^= 1 << self.below(8),
            4 => {
                let other = self.of(TEXTS).as_bytes();
                text.splice(at..at, other.iter().copied());
            }
            _ if at < text.len() => {
                text.remove(at);
            }
            _ => {}
        }
    }
}

#[test]
fn every_type_reads_every_text_as_serde_json_does() {
    TEXTS.iter().for_each(|text| check_all(text.as_bytes()));
}

#[test]
fn every_type_reads_every_part_of_a_text_as_serde_json_does() {
    for text in TEXTS.iter().filter(|text| text.len() < 200) {
        (0..text.len()).for_each(|end| check_all(&text.as_bytes()[..end]));
        (0..text.len()).for_each(|start| check_all(&text.as_bytes()[start..]));
    }
}

#[test]
fn every_type_reads_generated_and_damaged_texts_as_serde_json_does() {
    let mut random = Random(0x005e_ed0f_3e1a);
    for _ in 0..1_500 {
        let mut text = random.value(4).into_bytes();
        text.truncate(400);
        check_all(&text);
        for _ in 0..3 {
            random.damage(&mut text);
            check_all(&text);
        }
    }
}

#[test]
fn every_type_reads_damaged_samples_as_serde_json_does() {
    let mut random = Random(0x00da_3a9e_d000);
    for _ in 0..60 {
        for sample in TEXTS.iter().filter(|text| text.len() < 200) {
            let mut text = sample.as_bytes().to_vec();
            random.damage(&mut text);
            check_all(&text);
        }
    }
}

#[test]
fn strings_and_digits_of_every_length_at_every_place_are_read_alike() {
    for before in 0..9 {
        for length in 0..40 {
            let (space, text) = (" ".repeat(before), "x".repeat(length));
            for odd in ["", "\\n", "\\", "\"", "\u{1f}", "é", "\u{80}"] {
                check::<&str>(format!("{space}\"{text}{odd}\"").as_bytes());
                check::<IgnoredAny>(format!("{space}\"{text}{odd}\"").as_bytes());
                check::<Vec<String>>(
                    format!("{space}[\"{text}{odd}\",\"{odd}{text}\"]").as_bytes(),
                );
                check::<Event>(format!("{{\"{text}{odd}\":\"{odd}{text}\"}}").as_bytes());
            }
            let digits: String = ('1'..='9').chain(['0']).cycle().take(length).collect();
            for end in ["", ".5", "e1", " ", "x"] {
                check::<Value>(format!("{space}{digits}{end}").as_bytes());
                check::<i64>(format!("{space}-{digits}{end}").as_bytes());
                check::<Vec<u64>>(format!("[{digits}{end},{space}{digits}{end}]").as_bytes());
                check::<IgnoredAny>(format!("{space}[{digits}{end}]").as_bytes());
            }
        }
    }
}

#[test]
fn nesting_has_the_same_limit_where_it_is_read_and_none_where_it_is_skipped() {
    for depth in [1, 2, 63, 64, 65, 66, 126, 127, 128, 129, 1000] {
        let list = "[".repeat(depth) + &"]".repeat(depth);
        check::<Value>(list.as_bytes());
        check::<IgnoredAny>(list.as_bytes());
        check::<Event>(format!("{{\"x\":{list},\"bid\":null}}").as_bytes());
        check::<&RawValue>(list.as_bytes());
        let object = "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
        check::<Value>(object.as_bytes());
        check::<IgnoredAny>(object.as_bytes());
        let tree = "{\"a\":[".repeat(depth) + &"]}".repeat(depth);
        check::<Tree>(tree.as_bytes());
        let mixed = "[{\"a\":".repeat(depth) + "1" + &"}]".repeat(depth);
        check::<IgnoredAny>(mixed.as_bytes());
        check::<IgnoredAny>(mixed.replace('}', "]").as_bytes());
    }
}

#[test]
fn skipped_members_must_be_json() {
    for wrong in ["tru", "1.", "01", "\"\\x\"", "\"\u{1}\"", "[1,]", "{\"a\"}", "[}", "{]", "", "-"]
    {
        let text = format!("{{\"other\":{wrong},\"bid\":null}}");
        assert!(super::from_str::<Event>(&text).is_err(), "{text}");
        check::<Event>(text.as_bytes());
    }
}

#[test]
fn what_follows_the_value_is_refused() {
    for text in ["{\"bid\":null}x", "{\"bid\":null} {}", "{\"bid\":null},", "{\"bid\":null}\0"] {
        let error = super::from_str::<Event>(text).expect_err(text);
        assert!(error.to_string().starts_with("trailing characters"), "{error}");
    }
}

#[test]
fn the_common_forms_need_no_second_reading() {
    fn fast<'a, T: Deserialize<'a>>(text: &'a str) {
        assert!(read::<T>(Parser::of_str(text)).is_some(), "{text}");
        assert!(read::<T>(Parser::of_slice(text.as_bytes())).is_some(), "{text}");
    }
    fast::<Event>(
        r#"{"k":2,"ts":1700000000099,"x":"\"\u00e9","y":[-1.5e3,{"z":{}}],"bid":{"bidder":5}}"#,
    );
    fast::<Event>(" {\n\t\"bid\" : null }\r\n");
    fast::<Vec<f64>>("[1.5, -0, 1e300]");
    fast::<Vec<u64>>("[18446744073709551615]");
    fast::<Vec<i128>>("[170141183460469231731687303715884105727]");
    fast::<Vec<External>>(r#"["unit",{"newtype":1},{"struct":{"a":0.1}},{"tuple":[1,null]}]"#);
    fast::<(Internal, Adjacent)>(r#"[{"a":2,"type":"struct"},{"t":"newtype","c":[1,-2]}]"#);
    fast::<Vec<Untagged>>(r#"[1,1.5,"x",[true,false],{"a":1}]"#);
    fast::<BTreeMap<u64, (bool, String, Cow<'_, str>)>>(r#"{"1":[true,"a\nb","c\td"]}"#);
    fast::<Flat>(r#"{"a":1,"b":[null,"x\ny"]}"#);
    fast::<Raw<'_>>(r#"{"a":{"x":[1]},"b":{}}"#);
    fast::<Borrowing<'_>>(r#"{"name":"n","cow":"a\nb","c":"é"}"#);
}
