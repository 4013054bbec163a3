//! The secret that commands on different hosts share. It is read from a file, because every user can
//! read a command line.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::Read,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use ipcmark_transport::Error;
use nix::{fcntl::OFlag, unistd::geteuid};
use sha2::{Digest, Sha256};

/// Shorter secrets can be brute-forced offline from a recorded handshake.
const MIN_BYTES: usize = 16;

/// More than anybody types or generates.
const MAX_BYTES: u64 = 4096;

/// The remedy that explains how to make a secret.
const REMEDY: &str = "make one: (umask 077; openssl rand -hex 32 >secret), and copy it to the other \
    host";

/// A shared secret, as a key.
#[derive(Clone)]
pub struct Secret(pub(crate) [u8; 32]);

impl Secret {
    /// Reads the file, which only this user may access; white space around the secret is ignored.
    ///
    /// # Errors
    /// It cannot be read, is not a regular file of this user or root, or is too short or too long.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let object = format!("the secret in {}", path.display());
        let failed = |error| Error::os("read", &object, error).remedy(REMEDY);
        // A link would be another user's choice, and a FIFO or a device would block.
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(flags.bits()).open(path).map_err(failed)?;
        check(&file.metadata().map_err(failed)?, path, &object)?;
        Self::of(&start_of(file).map_err(failed)?, &object)
    }

    fn of(bytes: &[u8], object: &str) -> Result<Self, Error> {
        let secret = bytes.trim_ascii();
        if bytes.len() as u64 > MAX_BYTES {
            let cause = format!("the file is longer than {MAX_BYTES} bytes");
            return Err(Error::new("use", object, cause));
        }
        if secret.len() < MIN_BYTES {
            let cause = format!("it has fewer than {MIN_BYTES} characters");
            return Err(Error::new("use", object, cause).remedy(REMEDY));
        }
        Ok(Self(Sha256::digest(secret).into()))
    }
}

/// Reads one byte beyond the limit, which shows that a file is too long.
fn start_of(file: File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn check(metadata: &Metadata, path: &Path, object: &str) -> Result<(), Error> {
    if !metadata.is_file() {
        return Err(Error::new("use", object, "it is not a regular file").remedy(REMEDY));
    }
    if metadata.uid() != 0 && metadata.uid() != geteuid().as_raw() {
        let cause = format!("the file belongs to the user {}", metadata.uid());
        return Err(Error::new("use", object, cause).remedy("copy it to a file of your own"));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(Error::new("use", object, "others may read or change the file")
            .remedy(format!("chmod 600 {}", path.display())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, chown, symlink},
    };

    use nix::{sys::stat::Mode, unistd::mkfifo};

    use super::*;

    fn fault(path: &Path) -> String {
        Secret::read(path).err().unwrap().to_string()
    }

    fn read(text: &str, mode: u32) -> Result<Secret, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        Secret::read(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn a_secret_is_a_long_line_in_a_private_file() {
        let one = read("0123456789abcdef", 0o600).unwrap();
        let same = read("  0123456789abcdef\n", 0o400).unwrap();
        assert_eq!(one.0, same.0);
        assert!(read("too short", 0o600).err().unwrap().contains("fewer than 16"));
        assert!(read("0123456789abcdef", 0o644).err().unwrap().contains("chmod 600"));
        assert!(read(&"x".repeat(5000), 0o600).err().unwrap().contains("longer than"));
        let missing = fault(Path::new("/nowhere/secret"));
        assert!(missing.contains("openssl rand"), "{missing}");
    }

    /// Regression: they were read; a FIFO or a device blocked forever.
    #[test]
    fn only_a_regular_file_of_this_user_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let [fifo, link, file] = ["fifo", "link", "file"].map(|name| directory.path().join(name));
        mkfifo(&fifo, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        assert!(fault(&fifo).contains("not a regular file"));
        assert!(fault(Path::new("/dev/zero")).contains("not a regular file"));
        assert!(fault(directory.path()).contains("not a regular file"));
        fs::write(&file, "0123456789abcdef").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&file, &link).unwrap();
        assert!(fault(&link).contains("cannot read the secret"), "{}", fault(&link));
        assert!(Secret::read(&file).is_ok());
        if geteuid().is_root() {
            chown(&file, Some(65534), None).unwrap();
            assert!(fault(&file).contains("belongs to the user 65534"), "{}", fault(&file));
        }
    }
}
