//! The transports that the operating system offers, one file each.

mod null;
#[cfg(test)]
mod testing;

use ipcmark_transport::Collect;

macro_rules! transports {
    ($($module:ident),+ $(,)?) => {
        /// Hands every transport of the operating system to `collect`: the one explicit list.
        pub fn transports<C: Collect>(collect: &mut C) -> Vec<C::Item> {
            vec![$(collect.item($module::TRANSPORT)),+]
        }
    };
}

transports![null];
