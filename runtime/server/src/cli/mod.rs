//! The command line. Every command but `serve`, `demo`, `new` and `build` is a
//! client of the HTTP API: what it can do, `curl` can do too.
//!
//! Exit codes: 0 it worked, 1 it did not, 2 the command line was not understood.

mod calls;
mod client;
mod demo;
mod modules;
mod operators;
mod output;
mod pipelines;
mod progress;
mod state;
mod topics;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

use self::{client::Client, output::Output};

/// Where `weir` looks for a server, and where `weir serve` listens.
const DEFAULT_SERVER: &str = "http://127.0.0.1:9347";

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
    /// The server to talk to.
    #[arg(long, global = true, env = "WEIR_SERVER", default_value = DEFAULT_SERVER)]
    server: String,
    /// What to print: text for people, or the API's JSON.
    #[arg(short, long, global = true, value_enum, default_value = "text")]
    output: output::Format,
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
    Push(modules::PushArgs),
    /// List the modules.
    Modules,
    /// Deploy a pipeline file: a new pipeline, or a new revision of a running one.
    Apply(pipelines::ApplyArgs),
    /// List the pipelines.
    Pipelines,
    /// Show a pipeline: status, figures of every node and edge, audit.
    Describe(pipelines::Name),
    /// Take nothing in, keep everything.
    Pause(pipelines::Name),
    /// Start again after a pause or a stop.
    Resume(pipelines::Name),
    /// End the work in progress, commit, and unload.
    Stop(pipelines::Name),
    /// Delete a stopped pipeline.
    Delete(pipelines::DeleteArgs),
    /// Append records to a topic: values as arguments, or one a line from a file or
    /// standard input.
    Send(topics::SendArgs),
    /// Print a topic's records, and new ones as they come.
    Tail(topics::TailArgs),
    /// Call a handler and print its reply.
    Call(calls::CallArgs),
    /// Show an operator's state: the keys, or one key's cells.
    State(state::StateArgs),
    /// List dead letters, or discard one.
    DeadLetters(state::DeadLetterArgs),
}

/// Runs the command line of this process.
pub async fn run() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.global.output);
    match dispatch(cli, &output).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.error(&error);
            ExitCode::FAILURE
        }
    }
}

async fn dispatch(cli: Cli, out: &Output) -> anyhow::Result<()> {
    let client = Client::new(&cli.global.server)?;
    match cli.command {
        Command::Serve(args) => crate::serve(args.listen, args.data, announce).await,
        Command::Demo(args) => demo::run(args).await,
        Command::New(args) => operators::new(&args, out),
        Command::Build(args) => operators::build(&args, out),
        Command::Push(args) => modules::push(&client, &args, out).await,
        Command::Modules => modules::list(&client, out).await,
        Command::Apply(args) => pipelines::apply(&client, &args, out).await,
        Command::Pipelines => pipelines::list(&client, out).await,
        Command::Describe(name) => pipelines::describe(&client, &name, out).await,
        Command::Pause(name) => pipelines::change(&client, &name, "pause", out).await,
        Command::Resume(name) => pipelines::change(&client, &name, "resume", out).await,
        Command::Stop(name) => pipelines::change(&client, &name, "stop", out).await,
        Command::Delete(args) => pipelines::delete(&client, &args, out).await,
        Command::Send(args) => topics::send(&client, &args, out).await,
        Command::Tail(args) => topics::tail(&client, &args, out).await,
        Command::Call(args) => calls::call(&client, &args, out).await,
        Command::State(args) => state::show(&client, &args, out).await,
        Command::DeadLetters(args) => state::dead_letters(&client, &args, out).await,
    }
}

/// The line that tools wait for before they talk to the server.
fn announce(address: SocketAddr) {
    use std::io::Write as _;
    let mut stdout = std::io::stdout().lock();
    // Nobody may be reading; the server runs all the same.
    let _ = writeln!(stdout, "weir: listening on http://{address}").and_then(|()| stdout.flush());
}
