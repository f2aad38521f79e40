//! The command line. Every command but `serve`, `demo`, `new` and `build` is a
//! client of the HTTP API: what it can do, `curl` can do too.
//!
//! Exit codes: 0 it worked, 1 it did not, 2 the command line was not understood.

mod calls;
mod client;
mod date;
mod dead_letters;
mod demo;
mod describe;
mod invocations;
mod modules;
mod operators;
mod output;
mod pipelines;
mod problem;
mod progress;
mod records;
mod server;
mod state;
mod topics;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

use self::{
    output::{Format, Output},
    server::{Address, Nothing, Remote},
};

/// Runs WebAssembly operators over streams of events, with state, calls and
/// exactly-once effects.
#[derive(Parser)]
#[command(name = "weir", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Args)]
struct Global {
    /// The server to talk to; by default WEIR_SERVER, else http://127.0.0.1:9347.
    #[arg(long, value_name = "ADDRESS")]
    server: Option<Address>,
    /// What to print.
    #[arg(short, long, global = true, value_enum, default_value = "text")]
    output: Format,
}

/// Where a server listens and keeps its data.
#[derive(Args, Clone)]
struct ServeArgs {
    /// Address and port; port 0 takes a free one.
    #[arg(long, env = "WEIR_LISTEN", default_value = "127.0.0.1:9347")]
    listen: SocketAddr,
    /// Data directory; made if it is not there.
    #[arg(long, env = "WEIR_DATA", default_value = ".weir")]
    data: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server.
    Serve(ServeArgs),
    /// Run the server with the order-fulfilment example and a gentle stream of orders.
    Demo(demo::DemoArgs),
    /// Write a new operator: sources, SDK, a test.
    New(operators::NewArgs),
    /// Build an operator into a component.
    Build(operators::BuildArgs),
    /// Upload a module.
    Push(Remote<modules::PushArgs>),
    /// List the modules, show or delete one.
    Modules(Remote<modules::ModulesArgs>),
    /// Deploy a pipeline file: a new pipeline, or a new revision of a running one.
    Apply(Remote<pipelines::ApplyArgs>),
    /// List the pipelines.
    Pipelines(Remote<Nothing>),
    /// Show a pipeline: status, figures of every node and edge, audit.
    Describe(Remote<pipelines::Name>),
    /// List the revisions of a pipeline.
    Revisions(Remote<pipelines::Name>),
    /// Take nothing in, keep everything.
    Pause(Remote<pipelines::Name>),
    /// Start again after a pause or a stop.
    Resume(Remote<pipelines::Name>),
    /// End the work in progress, commit, and unload.
    Stop(Remote<pipelines::Name>),
    /// Delete a stopped pipeline.
    Delete(Remote<pipelines::DeleteArgs>),
    /// List the topics, create or delete one.
    Topics(Remote<topics::TopicsArgs>),
    /// Append records to a topic: values as arguments, or one a line from a file or
    /// standard input.
    Send(Remote<records::SendArgs>),
    /// Print a topic's records, and new ones as they come.
    Tail(Remote<records::TailArgs>),
    /// Call a handler and print its reply.
    Call(Remote<calls::CallArgs>),
    /// Show how far an invocation is and its result, or cancel it.
    Invocation(Remote<invocations::InvocationArgs>),
    /// Show an operator's state: the keys, or one key's cells.
    State(Remote<state::StateArgs>),
    /// List dead letters, show one in full, or discard one.
    DeadLetters(Remote<dead_letters::DeadLetterArgs>),
}

/// Runs the command line of this process.
pub async fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return not_understood(&error),
    };
    let output = Output::new(cli.global.output);
    match dispatch(cli, &output).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Help and version as asked for; else what is wrong with the command line, in JSON
/// if that is plainly wanted.
fn not_understood(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && wants_json(std::env::args().skip(1)) {
        eprintln!("{}", output::client_problem(error.render().to_string().trim()));
    } else {
        // Nobody may be reading.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Does a command line that could not be read ask for JSON?
fn wants_json(args: impl Iterator<Item = String>) -> bool {
    let args: Vec<String> = args.collect();
    let joined = ["-ojson", "-o=json", "--output=json"];
    args.iter().any(|arg| joined.contains(&arg.as_str()))
        || args.windows(2).any(|two| ["-o", "--output"].contains(&&*two[0]) && two[1] == "json")
}

async fn dispatch(cli: Cli, out: &Output) -> anyhow::Result<()> {
    let before = cli.global.server;
    /// Runs a command of a client.
    macro_rules! with {
        ($remote:expr, |$client:ident, $args:ident| $run:expr) => {{
            let ($client, $args) = $remote.connect(before)?;
            let ($client, $args) = (&$client, &$args);
            $run.await
        }};
    }
    match cli.command {
        Command::Serve(args) => crate::serve(args.listen, args.data, announce).await,
        Command::Demo(args) => demo::run(args).await,
        Command::New(args) => operators::new(&args, out),
        Command::Build(args) => operators::build(&args, out),
        Command::Push(r) => with!(r, |client, args| modules::push(client, args, out)),
        Command::Modules(r) => with!(r, |client, args| modules::modules(client, args, out)),
        Command::Apply(r) => with!(r, |client, args| pipelines::apply(client, args, out)),
        Command::Pipelines(r) => with!(r, |client, _none| pipelines::list(client, out)),
        Command::Describe(r) => with!(r, |client, name| describe::describe(client, name, out)),
        Command::Revisions(r) => with!(r, |client, name| pipelines::revisions(client, name, out)),
        Command::Pause(r) => with!(r, |client, name| pipelines::change(client, name, "pause", out)),
        Command::Resume(r) => {
            with!(r, |client, name| pipelines::change(client, name, "resume", out))
        }
        Command::Stop(r) => with!(r, |client, name| pipelines::change(client, name, "stop", out)),
        Command::Delete(r) => with!(r, |client, args| pipelines::delete(client, args, out)),
        Command::Topics(r) => with!(r, |client, args| topics::topics(client, args, out)),
        Command::Send(r) => with!(r, |client, args| records::send(client, args, out)),
        Command::Tail(r) => with!(r, |client, args| records::tail(client, args, out)),
        Command::Call(r) => with!(r, |client, args| calls::call(client, args, out)),
        Command::Invocation(r) => {
            with!(r, |client, args| invocations::invocation(client, args, out))
        }
        Command::State(r) => with!(r, |client, args| state::show(client, args, out)),
        Command::DeadLetters(r) => {
            with!(r, |client, args| dead_letters::dead_letters(client, args, out))
        }
    }
}

/// The line that tools wait for before they talk to the server.
fn announce(address: SocketAddr) {
    use std::io::Write as _;
    let mut stdout = std::io::stdout().lock();
    // Nobody may be reading; the server runs all the same.
    let _ = writeln!(stdout, "weir: listening on http://{address}").and_then(|()| stdout.flush());
}

#[cfg(test)]
mod tests;
