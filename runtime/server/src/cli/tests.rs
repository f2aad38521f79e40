//! What the command line takes, and which help it gives.

use clap::{CommandFactory as _, Parser as _};

use super::{Cli, wants_json};

const LOCAL: [&str; 4] = ["serve", "demo", "new", "build"];

#[test]
fn the_definition_holds() {
    Cli::command().debug_assert();
}

#[test]
fn only_clients_have_the_option_for_a_server() {
    for command in Cli::command().get_subcommands() {
        let has = command.get_arguments().any(|arg| arg.get_id() == "server");
        assert_eq!(has, !LOCAL.contains(&command.get_name()), "{}", command.get_name());
    }
}

#[test]
fn a_server_can_be_named_before_and_after_the_command() {
    for line in [
        "weir --server http://a:1 pipelines",
        "weir pipelines --server http://a:1",
        "weir modules --server http://a:1 show order 1.0.0",
        "weir modules show order 1.0.0 --server http://a:1",
        "weir topics delete orders -o json --server http://a:1",
    ] {
        assert!(Cli::try_parse_from(line.split(' ')).is_ok(), "{line}");
    }
    let error = Cli::try_parse_from(["weir", "pipelines", "--server", "nonsense"]).err().unwrap();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("http://127.0.0.1:9347"), "{error}");
    assert!(Cli::try_parse_from(["weir", "serve", "--server", "http://a:1"]).is_err());
}

#[test]
fn json_is_asked_for_in_several_ways() {
    let wants = |line: &str| wants_json(line.split(' ').map(str::to_owned));
    for line in ["-o json x", "x -ojson", "--output json", "--output=json x"] {
        assert!(wants(line), "{line}");
    }
    for line in ["x", "-o text", "json -o", "send t json"] {
        assert!(!wants(line), "{line}");
    }
}
