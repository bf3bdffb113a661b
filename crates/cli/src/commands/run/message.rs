//! The message of `agenthost run`: its words, its attachments and its model.

use std::io::{IsTerminal, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use agenthost_protocol::chat::{Attachment, Message};
use agenthost_stdx::result::IgnoreResult;
use anyhow::{Context, bail};

use crate::dialog::attachments::{
    MAX_ATTACHMENT_BYTES, attach_file, attach_image, attach_mentioned, attach_text,
};
use crate::output;

/// The word that stands for a message on standard input.
const STDIN_WORD: &str = "-";

/// Time after which the user is told that standard input is read.
const STDIN_NOTE_DELAY: Duration = Duration::from_secs(3);

/// The message and its attachments.
#[derive(clap::Args)]
pub(super) struct MessageArgs {
    /// The message, in one word or more; `-` reads it from standard input. A message that begins
    /// with `!`, and any message to the shell agent, is a command line
    #[arg(value_name = "MESSAGE")]
    words: Vec<String>,
    /// Attach a file; repeat it for several
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Attach an image; repeat it for several
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// The model, as `agenthost model` lists it
    #[arg(long, value_name = "ID")]
    model: Option<String>,
}

/// The use of standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StdinUse {
    /// It answers prompts and is the input of commands.
    Interactive,
    /// Its text is, or was, part of the message.
    Message,
}

/// A message that was read.
pub(super) struct ReadMessage {
    pub(super) message: Message,
    pub(super) stdin: StdinUse,
}

impl MessageArgs {
    /// Reads the text of the message. Standard input is read if the message is there.
    pub(super) fn read_text(&self) -> anyhow::Result<(String, StdinUse)> {
        let text = self.words.join(" ");
        let is_piped = !std::io::stdin().is_terminal();
        if text == STDIN_WORD || text.is_empty() && is_piped {
            let text = read_stdin()?.trim().to_owned();
            if text.is_empty() {
                bail!("there is no message on standard input");
            }
            return Ok((text, StdinUse::Message));
        }
        if text.trim().is_empty() {
            bail!(
                "there is no message\nhint: `agenthost run MESSAGE`, or `agenthost attach --new` for a conversation"
            );
        }
        Ok((text, StdinUse::Interactive))
    }

    /// Adds the attachments. For an agent, text that was piped to this command is
    /// an attachment; a command gets it as its input.
    pub(super) fn complete(
        &self,
        text: String,
        mut stdin: StdinUse,
        is_command: bool,
        folder: &Path,
    ) -> anyhow::Result<ReadMessage> {
        let mut attachments: Vec<Attachment> = Vec::new();
        if !is_command {
            attachments.extend(attach_mentioned(&text, folder));
            if stdin == StdinUse::Interactive && is_stdin_piped() {
                stdin = StdinUse::Message;
                let context = read_stdin()?;
                if !context.trim().is_empty() {
                    attachments.push(attach_text(context));
                }
            }
        }
        for file in &self.file {
            attachments.push(attach_file(file, folder)?);
        }
        for image in &self.image {
            attachments.push(attach_image(image)?);
        }
        let mut message = Message::of_user(text);
        message.attachments = (!attachments.is_empty()).then_some(attachments);
        Ok(ReadMessage { message, stdin })
    }

    /// Returns the id of the model, if one is named.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }
}

/// Returns `true` if stdin is a pipe or a file. `/dev/null` is neither.
fn is_stdin_piped() -> bool {
    let metadata = std::fs::metadata("/dev/stdin");
    metadata.is_ok_and(|metadata| {
        let kind = metadata.file_type();
        kind.is_fifo() || kind.is_file() || kind.is_socket()
    })
}

/// Reads standard input to its end. Tells the user if another program keeps it open.
fn read_stdin() -> anyhow::Result<String> {
    let (sender, received) = sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let limit = MAX_ATTACHMENT_BYTES as u64 + 1;
        let read = std::io::stdin().lock().take(limit).read_to_end(&mut bytes);
        sender.send(read.map(|_| bytes)).ignore_closed();
    });
    let read = match received.recv_timeout(STDIN_NOTE_DELAY) {
        Err(RecvTimeoutError::Timeout) => {
            output::print_note("reading standard input; `< /dev/null` leaves it out");
            received.recv().ok()
        }
        read => read.ok(),
    };
    let read = read.context("read standard input")?;
    let bytes = read.context("read standard input")?;
    if bytes.len() > MAX_ATTACHMENT_BYTES {
        let limit = MAX_ATTACHMENT_BYTES / 1024;
        bail!("standard input is larger than {limit} KiB");
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
