//! A bare program of zenoh, the baseline for `zenoh-tcp`.

#[path = "../../shared/rust/bare.rs"]
mod bare;
mod bare_ports;
mod bare_session;

fn main() -> Result<(), bare::Failure> {
    bare_session::run::<bare_ports::Ports>(bare_session::Link::Tcp)
}
