//! Dialogs above the panes. The topmost one has the keyboard.

pub(crate) mod chooser;
pub(crate) mod form;
pub(crate) mod help;
pub(crate) mod new_session;
pub(crate) mod prompt;
pub(crate) mod queue_list;
pub(crate) mod restore;

use chooser::ChooserDialog;
use form::FormDialog;
use help::HelpDialog;
use new_session::NewSessionDialog;
use prompt::{ConfirmDialog, PromptDialog};
use queue_list::QueueDialog;
use restore::RestoreDialog;

/// A dialog.
#[derive(Debug)]
pub(crate) enum ScreenDialog {
    Chooser(ChooserDialog),
    Prompt(PromptDialog),
    Confirm(ConfirmDialog),
    Form(Box<FormDialog>),
    NewSession(Box<NewSessionDialog>),
    Queue(QueueDialog),
    Restore(RestoreDialog),
    Help(HelpDialog),
}
