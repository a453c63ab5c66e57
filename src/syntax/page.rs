//! A page of explanation: what is known of one finding or one message, for whoever meets it for the first time.
//!
//! Rules and messages carry theirs; printers lay them out. Texts are Markdown's simplest kind: paragraphs with an
//! empty line between them, code between backticks. Nothing here decides or prints.

/// What is known of a finding or a message, in the order in which it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// What it says, and how it comes to that.
    pub means: &'static str,
    /// What it does to the relist, or why it does nothing to it.
    pub matters: &'static str,
    /// How to see whether it is so: commands that change nothing, the most telling first.
    pub confirm: &'static [Look],
    /// What helps, the mildest first. Empty where there is nothing to do, or where only the pages of `see` know.
    pub remedies: &'static [Cure],
    /// Which versions it concerns: of the kubelet, the runtime, the kernel.
    pub versions: &'static str,
    /// What nobody has shown, and what this is easily taken for; empty where nothing is left open.
    pub unproved: &'static str,
    /// Ids of the findings and messages to read next.
    pub see: &'static [&'static str],
    /// Where it is known from: `kubernetes#45419` (an issue or pull request), `moby:daemon/delete.go` (a file of the
    /// source), `run: kubelet 1.20.2, Docker 20.10.24` (seen on such a node).
    pub sources: &'static [&'static str],
}

/// A look that tells whether it is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// What its answer tells.
    pub what: &'static str,
    /// The command; words in capitals (`ID`, `PID`) stand for what the reader knows. Changes nothing.
    pub command: &'static str,
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cure {
    /// What, as an imperative.
    pub what: &'static str,
    /// The command; empty where it is a change of a setting, a machine or a program.
    pub command: &'static str,
    /// What it costs.
    pub cost: &'static str,
}

impl Page {
    /// A page that is still to be written; no test lets it pass.
    pub const UNWRITTEN: Self = Self {
        means: "",
        matters: "",
        confirm: &[],
        remedies: &[],
        versions: "",
        unproved: "",
        see: &[],
        sources: &[],
    };
}

impl Look {
    /// All evidence together.
    pub const DIAGNOSE: Self = Self {
        what: "What is behind it, by all evidence together",
        command: "plegdoctor diagnose",
    };
    /// Docker alone.
    pub const PROBE: Self = Self {
        what: "Which calls and containers do not answer, each asked by itself with a deadline (Docker)",
        command: "plegdoctor probe",
    };
    /// The messages of the last two hours.
    pub const EVENTS: Self = Self {
        what: "What the kubelet logged before and since, message by message",
        command: "plegdoctor events --since 2h",
    };
    /// The OCI runtime process that works on a container.
    pub const RUNTIME_PROCESS: Self = Self {
        what: "Which process works on it, since when, and where it waits",
        command: "ps -eo pid,ppid,stat,etime,wchan:24,args | grep -E 'ID|[r]unc init'",
    };
}

impl Cure {
    /// What a restart destroys, kept.
    pub const SAVE: Self = Self {
        what: "Save the evidence before anything is restarted",
        command: "plegdoctor collect -o node.tar.gz",
        cost: "nothing; some seconds, and it only reads",
    };
    /// The mildest remedy first, each tried and looked at.
    pub const FIX: Self = Self {
        what: "Let plegdoctor go through the remedies, the mildest first; it asks before each and looks after each",
        command: "plegdoctor diagnose --fix",
        cost: "what each remedy says that it costs",
    };
    /// The last resort.
    pub const RESTART_RUNTIME: Self = Self {
        what: "Restart the runtime, once the evidence is saved",
        command: "systemctl restart docker # or containerd, crio, k3s, rke2-server: what the kubelet drives",
        cost: "Docker stops every container of the node unless live-restore is on; containerd and CRI-O leave them \
            running. Calls in flight fail, and the evidence is gone",
    };
}
