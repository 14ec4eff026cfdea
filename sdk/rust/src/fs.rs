//! Operations on files that WASI lacks. Read and write files with [`std::fs`].

use crate::{host, host_call, imports, HostError};
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct FileMode<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<u32>,
}

#[derive(Deserialize)]
struct FileModeResult {
    mode: u32,
}

/// Returns the permission bits of the file or directory at an absolute path.
pub fn mode(path: &str) -> Result<u32, HostError> {
    host_call("fs/mode", &FileMode { path, mode: None }).map(|r: FileModeResult| r.mode)
}

/// Sets the permission bits, such as 0o644.
pub fn set_mode(path: &str, mode: u32) -> Result<(), HostError> {
    host_call("fs/mode", &FileMode { path, mode: Some(mode) }).map(|_: FileModeResult| ())
}

/// Lists a directory tree with the stat data of its entries and the content of its files, in one operation for each 4 MiB.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Scan {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
    #[serde(rename = "match")]
    matching: Vec<String>,
    skip: Vec<String>,
    follow: bool,
    data: &'static str,
    function: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    after: String,
}

impl Scan {
    /// Scans the directory at an absolute path, without the directories in it.
    pub fn new(path: impl Into<String>) -> Self {
        Scan { path: path.into(), data: "content", ..Default::default() }
    }

    /// Lists this number of levels of directories, at most 32.
    pub fn depth(mut self, levels: u32) -> Self {
        self.depth = Some(levels);
        self
    }

    /// Reads regular files whose name matches a pattern such as `*.md`. It can be called 16 times.
    pub fn matching(mut self, pattern: &str) -> Self {
        self.matching.push(pattern.to_owned());
        self
    }

    /// Leaves directories out whose name matches a pattern. It can be called 16 times.
    pub fn skip(mut self, pattern: &str) -> Self {
        self.skip.push(pattern.to_owned());
        self
    }

    /// Describes symbolic links by their targets.
    pub fn follow(mut self) -> Self {
        self.follow = true;
        self
    }

    /// Returns the 32 bytes of a file's SHA-256 instead of its content.
    pub fn sha256(mut self) -> Self {
        self.data = "sha256";
        self
    }

    /// Returns what the derive function (the second argument of [`serve!`](crate::serve)) returns for a file and this number, instead
    /// of the file's content. The host caches it.
    pub fn derived(mut self, function: u32) -> Self {
        self.data = "derived";
        self.function = function;
        self
    }

    /// Returns all entries. A directory comes before its entries, which are in byte order of their names.
    pub fn entries(mut self) -> Result<Vec<Entry>, HostError> {
        const OP: &str = "fs/scan";
        let mut entries = Vec::new();
        loop {
            let answer = imports::call_host(&host::encode(OP, &self)?);
            if answer.first() != Some(&VERSION) {
                host::decode::<serde::de::IgnoredAny>(OP, &answer)?;
            }
            let more = parse(&answer, &mut entries).ok_or_else(|| HostError::new(HostError::FAILED, "fs/scan: invalid answer"))?;
            match entries.last() {
                Some(last) if more => self.after.clone_from(&last.path),
                _ => return Ok(entries),
            }
        }
    }
}

/// An entry of a [`Scan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the path of the scan, with `/` between names.
    pub path: String,
    pub kind: Kind,
    /// The entry is a symbolic link that was followed.
    pub linked: bool,
    pub state: State,
    pub size: i64,
    /// The time of modification in nanoseconds since 1970.
    pub modified: i64,
    pub data: Option<Vec<u8>>,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Other,
    Directory,
    Regular,
    Link,
}

/// Why an entry lacks data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The data is present, or not wanted.
    Complete,
    TooLarge,
    /// It cannot be read, or was changed while it was read.
    Unreadable,
    /// The derive function failed.
    Failed,
    /// The link's target does not exist in the plugin's tree.
    Dangling,
}

const VERSION: u8 = 1;
const MORE: u8 = 1;
const NO_DATA: usize = 0xffff_ffff;

/// Appends the entries of an answer. It returns whether there are more, or None if the answer is invalid.
fn parse(answer: &[u8], entries: &mut Vec<Entry>) -> Option<bool> {
    let mut rest = answer;
    let header: [u8; 8] = take(&mut rest)?;
    for _ in 0..u32::from_le_bytes([header[4], header[5], header[6], header[7]]) {
        let data_length = u32::from_le_bytes(take(&mut rest)?) as usize;
        let path_length = u16::from_le_bytes(take(&mut rest)?) as usize;
        let [kind, state] = take(&mut rest)?;
        let (size, modified) = (i64::from_le_bytes(take(&mut rest)?), i64::from_le_bytes(take(&mut rest)?));
        let path = String::from_utf8(split(&mut rest, path_length)?.to_vec()).ok()?;
        let data = match data_length {
            NO_DATA => None,
            length => Some(split(&mut rest, length)?.to_vec()),
        };
        let kind_of = match kind & 0x7f {
            3 => Kind::Directory,
            4 => Kind::Regular,
            7 => Kind::Link,
            _ => Kind::Other,
        };
        let state = match state {
            0 => State::Complete,
            1 => State::TooLarge,
            3 => State::Failed,
            4 => State::Dangling,
            _ => State::Unreadable,
        };
        entries.push(Entry { path, kind: kind_of, linked: kind & 0x80 != 0, state, size, modified, data });
    }
    Some(header[1] & MORE != 0)
}

fn split<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(head)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    split(rest, N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_entries() {
        let mut answer = vec![1, MORE, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0x84, 0];
        answer.extend(7i64.to_le_bytes());
        answer.extend(9i64.to_le_bytes());
        answer.extend(b"a/bhi");
        let mut entries = Vec::new();
        assert_eq!(parse(&answer, &mut entries), Some(true));
        let want = Entry {
            path: "a/b".into(),
            kind: Kind::Regular,
            linked: true,
            state: State::Complete,
            size: 7,
            modified: 9,
            data: Some(b"hi".to_vec()),
        };
        assert_eq!(entries, [want]);
        for length in 0..answer.len() {
            assert_eq!(parse(&answer[..length], &mut Vec::new()), None, "{length} bytes");
        }
    }
}
