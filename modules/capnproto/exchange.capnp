# What the ends call of each other: a message is a streaming call of the other end's sink.
@0xc2ed65e376f646df;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("ipcmark_capnproto");

interface Sink {
  write @0 (message :Data) -> stream;
}

# The follower's, which the leader calls once.
interface Exchange {
  connect @0 (leader :Sink) -> (follower :Sink);
}
