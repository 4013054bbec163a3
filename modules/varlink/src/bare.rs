//! A bare program of calls of Varlink by zlink, the baseline for `varlink`. The process that was started first is the
//! follower: it listens.

#[path = "../../shared/rust/bare.rs"]
mod bare;
#[expect(dead_code, reason = "the set-up of the row needs the rest")]
mod message;
#[path = "../../shared/rust/wait.rs"]
mod wait;

use std::{
    fs,
    os::unix::net::{UnixListener, UnixStream},
};

use bare::{Asked, Failure};
use message::{Exchanged, Method};
use tokio::runtime::{Builder, Runtime};
use wait::wait;
use zlink::{Call, Reply, tokio::unix};

fn main() -> Result<(), Failure> {
    let asked = Asked::read()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    if let Some(path) = &asked.told {
        let mut end = BareEnd::of(UnixStream::connect(path)?, &runtime, &asked)?;
        bare::pin(asked.leader_cpu);
        return lead(&runtime, &mut end, &asked);
    }
    let directory = std::env::temp_dir().join(bare::name());
    fs::create_dir(&directory)?;
    let path = directory.join("varlink");
    let listener = UnixListener::bind(&path)?;
    let mut leader = asked.start_other(&path.display().to_string())?;
    let mut end = BareEnd::of(listener.accept()?.0, &runtime, &asked)?;
    bare::pin(asked.follower_cpu);
    follow(&runtime, &mut end, &asked)?;
    leader.wait()?;
    Ok(fs::remove_dir_all(&directory)?)
}

struct BareEnd {
    connection: unix::Connection,
    room: Vec<u8>,
    text: String,
    message: Vec<u8>,
    spins: bool,
}

impl BareEnd {
    fn of(socket: UnixStream, runtime: &Runtime, asked: &Asked) -> Result<Self, Failure> {
        let _context = runtime.enter();
        let connection = unix::Connection::new(unix::Stream::try_from(socket)?);
        let (room, message) = (vec![1; asked.payload], vec![1; asked.payload]);
        Ok(Self { connection, room, text: String::new(), message, spins: asked.spins })
    }

    fn write(&mut self, number: u64) {
        bare::write(&mut self.room, number);
        message::encode(&self.room, &mut self.text);
    }

    fn read(message: &mut [u8], text: &str) -> Result<u64, Failure> {
        let len = message::decode(text, message)?;
        bare::read(&message[..len], message.len())
    }
}

fn lead(runtime: &Runtime, end: &mut BareEnd, asked: &Asked) -> Result<(), Failure> {
    asked.lead(|n| {
        end.write(n);
        let call = Call::new(Method::Exchange { payload: &end.text });
        let answer = runtime.block_on(async {
            wait(end.connection.send_call(&call, Vec::new()), end.spins).await?;
            let receiving = end.connection.receive_reply::<Exchanged<'_>, ()>();
            let reply = wait(receiving, end.spins).await?.0.map_err(|()| "an error")?;
            BareEnd::read(&mut end.message, reply.parameters().ok_or("an empty reply")?.payload)
        })?;
        assert_eq!(answer, n);
        Ok(())
    })
}

fn follow(runtime: &Runtime, end: &mut BareEnd, asked: &Asked) -> Result<(), Failure> {
    asked.follow(|| {
        runtime.block_on(async {
            let receiving = end.connection.receive_call::<Method<'_>>();
            let (call, _) = wait(receiving, end.spins).await?;
            let Method::Exchange { payload } = call.method();
            let number = BareEnd::read(&mut end.message, payload)?;
            end.write(number);
            let reply = Reply::from(Exchanged { payload: &end.text });
            Ok(wait(end.connection.send_reply(&reply, Vec::new()), end.spins).await?)
        })
    })
}
