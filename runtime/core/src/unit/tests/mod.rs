//! Scenarios of the protocol, by name, over units and ingress wired by hand.

mod calls;
mod epochs;
mod failures;
mod guest;
mod ingress;
mod random;
mod sends;
mod spill;
mod transforms;
mod traps;
mod world;

use self::{
    guest::{Stop, terminal, transient},
    world::{Program, World},
};
