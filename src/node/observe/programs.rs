//! Asks programs of this machine, each in a child that is abandoned at its deadline and says no more than fits.
//!
//! The child is our own program again, which becomes the one asked: to look at a program on a dead disk, or to run
//! it, may sleep in the kernel for ever, and then sleeps the child alone. It runs only what root alone can have put
//! there, without our environment and our standard streams: what stands in `PATH` is nobody's word.

use super::process;
use crate::io::child;
use crate::io::child::Running;
use crate::io::files::Tree;
use crate::node::State;
use anyhow::{Context as _, bail};
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Most that is read of an output.
const MAX_BYTES: u64 = 64 << 10;
/// How long a killed child is waited for.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_millis(100);
/// Whoever may write to a file or a folder besides its owner and group.
const OTHERS_WRITE: u32 = 0o002;

const NOT_THERE: &str = "no such program";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Output(String, Duration),
    Failed(String),
    /// With the child that survived KILL, if any.
    TimedOut(Duration, Option<u32>),
    /// It did not start in time, or was itself blocked in the kernel, on a disk for instance: its silence says nothing
    /// about the daemon that it was to ask.
    Stuck(Option<u32>),
}

impl Reply {
    pub(super) fn output(self) -> Result<String, String> {
        match self {
            Self::Output(text, _) => Ok(text),
            Self::Failed(why) => Err(why),
            Self::TimedOut(_, Some(pid)) | Self::Stuck(Some(pid)) => Err(stuck_child(pid)),
            Self::TimedOut(_, None) | Self::Stuck(None) => Err("not read in time".to_owned()),
        }
    }
}

pub(super) fn stuck_child(pid: u32) -> String {
    format!(
        "process {pid}, a child of plegdoctor, is blocked in the kernel and exits once that call returns"
    )
}

/// Runs a program, which is named by its whole path, until `until`.
pub(super) fn run(program: &Path, args: &[&str], until: Instant) -> Reply {
    let mut command = child::reader();
    // What follows `--` is no option of ours.
    command.args(["program", "--"]).arg(program).args(args);
    run_child(&mut command, until, &has_started)
}

/// Reads a file in the same way: on a dead disk that may take for ever.
pub(super) fn read(file: &Path, until: Instant) -> Reply {
    let mut command = child::reader();
    command.args(["file", "--"]).arg(file);
    run_child(&mut command, until, &|_| true)
}

/// Lists folders of the machine whose root directory is `root`, in the same way; see `leftover_layers::write`.
pub(super) fn list(root: &Path, folders: &[String], until: Instant) -> Reply {
    let mut command = child::reader();
    command.args(["folders", "--"]).arg(root).args(folders);
    run_child(&mut command, until, &|_| true)
}

pub(super) fn is_not_there(words: &str) -> bool {
    words.contains(NOT_THERE)
}

/// Whether a child has become the program and does not sleep where only a disk or the like wakes it up.
fn has_started(pid: u32) -> bool {
    let own = Path::new(child::OWN_PROGRAM).file_name();
    process::stat(pid).is_some_and(|stat| {
        own != Some(OsStr::new(&stat.comm)) && stat.state != State::Uninterruptible
    })
}

fn run_child(command: &mut Command, until: Instant, has_started: &dyn Fn(u32) -> bool) -> Reply {
    let started = Instant::now();
    command
        .env_clear()
        .current_dir("/")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = match Running::start(command) {
        Ok(running) => running,
        Err(error) => return Reply::Failed(error.to_string()),
    };
    let (bytes, closed) = match running.read(MAX_BYTES, until) {
        Ok(read) => read,
        Err(error) => return Reply::Failed(error.to_string()),
    };
    let left = until.saturating_duration_since(Instant::now());
    if closed && let Some(status) = running.wait(left) {
        let words = String::from_utf8_lossy(&bytes);
        let words = words.trim();
        // The child's own words begin so, too.
        let words = words.strip_prefix("plegdoctor: ").unwrap_or(words);
        return match words {
            words if status.success() => Reply::Output(words.to_owned(), started.elapsed()),
            "" => Reply::Failed(status.to_string()),
            words => Reply::Failed(words.to_owned()),
        };
    }
    let (waited, has_started) = (started.elapsed(), has_started(running.child.id()));
    let survivor = running.kill(KILL_TIMEOUT);
    if has_started {
        Reply::TimedOut(waited, survivor)
    } else {
        Reply::Stuck(survivor)
    }
}

/// The child's part: becomes the program, if root alone can have put it there.
pub fn exec(program: &Path, args: &[OsString]) -> anyhow::Result<Infallible> {
    child::detach();
    let real = trusted(program)?;
    // Some are one file that does what it is called.
    let error = Command::new(&real).arg0(program).args(args).exec();
    Err(error).with_context(|| format!("can't run {}", real.display()))
}

/// The child's part: writes a file to `out`, as much as is read of it.
///
/// # Errors
/// It can't be read, or what `out` says.
pub fn write_file(file: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    child::detach();
    let bytes = Tree::at(Path::new("/")).bytes(file);
    let bytes = bytes.with_context(|| format!("can't read {file}"))?;
    let limit = usize::try_from(MAX_BYTES).unwrap_or(usize::MAX);
    out.write_all(&bytes[..bytes.len().min(limit)])?;
    out.flush()?;
    Ok(())
}

/// A program's real path if root alone can have put it there: it and all folders above it belong to root, and not
/// everybody may write to them.
fn trusted(program: &Path) -> anyhow::Result<PathBuf> {
    if !program.is_absolute() {
        bail!("{} is not an absolute path", program.display());
    }
    let real = match fs::canonicalize(program) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("{NOT_THERE} {}", program.display());
        }
        real => real.with_context(|| program.display().to_string())?,
    };
    for path in real.ancestors() {
        let data = fs::metadata(path).with_context(|| path.display().to_string())?;
        if data.uid() != 0 || data.mode() & OTHERS_WRITE != 0 {
            bail!(
                "not run: users other than root can write to {}",
                path.display()
            );
        }
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::unix::fs::PermissionsExt as _, thread};

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn asked(command: &mut Command) -> Reply {
        run_child(
            command,
            Instant::now() + Duration::from_secs(30),
            &has_started,
        )
    }

    #[test]
    fn who_was_not_begun_in_time_has_not_kept_silent() {
        // What is still called as our own program is in a child of ours has not become another.
        let here = tempfile::tempdir().unwrap();
        let still = here.path().join("exe");
        fs::copy("/bin/sleep", &still).unwrap();
        for (program, hung) in [(still.as_path(), true), (Path::new("/bin/sleep"), false)] {
            let until = Instant::now() + Duration::from_millis(500);
            let answer = run_child(Command::new(program).arg("97"), until, &has_started);
            assert_eq!(answer == Reply::Stuck(None), hung, "{answer:?}");
        }
    }

    #[test]
    fn what_it_says_is_told_and_what_it_fails_with_too() {
        let Reply::Output(words, _) = asked(&mut shell("echo v1.20.2; echo ${USER:-nobody}"))
        else {
            panic!();
        };
        assert_eq!(words, "v1.20.2\nnobody");
        let failed = |script| asked(&mut shell(script));
        let words = "Failed to connect to bus: No such file or directory";
        assert_eq!(
            failed("echo Failed to connect to bus: No such file or directory >&2; exit 1"),
            Reply::Failed(words.to_owned())
        );
        assert_eq!(failed("exit 3"), Reply::Failed("exit status: 3".to_owned()));
        assert!(matches!(
            asked(&mut Command::new("/nowhere")),
            Reply::Failed(_)
        ));
    }

    #[test]
    fn who_never_stops_talking_is_cut_off() {
        // The pipe closes before it has said all.
        let Reply::Failed(words) = asked(&mut shell("yes")) else {
            panic!();
        };
        assert!(words.len() <= 64 << 10);
    }

    #[test]
    fn who_hangs_is_killed_with_all_that_it_started() {
        let here = tempfile::tempdir().unwrap();
        let file = here.path().join("pids");
        let script = format!("sleep 98 & echo $$ $! > {}; sleep 97", file.display());
        let started = Instant::now();
        let until = started + Duration::from_millis(500);
        let asked = run_child(&mut shell(&script), until, &has_started);
        assert!(
            matches!(asked, Reply::TimedOut(waited, None) if waited >= Duration::from_millis(500)),
            "{asked:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(10));
        let pids = fs::read_to_string(&file).unwrap();
        for pid in pids.split_whitespace() {
            let gone = || {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
                stat.map_or(true, |stat| stat.contains(") Z "))
            };
            let until = Instant::now() + Duration::from_secs(10);
            while !gone() && Instant::now() < until {
                thread::sleep(Duration::from_millis(10));
            }
            assert!(gone(), "{pid} lives");
        }
    }

    #[test]
    fn only_what_root_alone_can_have_put_there_is_run() {
        assert!(trusted(Path::new("/bin/sh")).is_ok());
        assert!(trusted(Path::new("sh")).is_err());
        let error = trusted(Path::new("/bin/no-such-program")).unwrap_err();
        assert!(is_not_there(&error.to_string()), "{error}");
        // A folder in which everybody may write, /tmp, is above it.
        let here = tempfile::tempdir().unwrap();
        let program = here.path().join("busctl");
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let error = trusted(&program).unwrap_err().to_string();
        assert!(error.contains("other than root can write"), "{error}");
        // Nor is a link from a better place a way round.
        let link = here.path().join("link");
        std::os::unix::fs::symlink(&program, &link).unwrap();
        assert!(trusted(&link).is_err());
    }
}
