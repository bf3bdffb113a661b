//! Actions on terminals.

use agenthost_protocol::ids::ClientId;
use agenthost_protocol::terminal::{
    TerminalAction, TerminalClaim, TerminalLifecycle, TerminalState,
};

use crate::refusal::Refusal;

pub(super) fn judge(
    terminal: &TerminalState,
    client: &ClientId,
    action: TerminalAction,
) -> Result<TerminalAction, Refusal> {
    let exited = matches!(terminal.lifecycle, TerminalLifecycle::Exited(_));
    match &action {
        TerminalAction::Input(_) | TerminalAction::Resized(_) if exited => {
            return Err(Refusal::Invalid("the terminal has exited".to_owned()));
        }
        TerminalAction::Resized(size) if size.cols < 1 || size.rows < 1 => {
            let reason = "a terminal has at least one column and one row";
            return Err(Refusal::Invalid(reason.to_owned()));
        }
        TerminalAction::Claimed(_) | TerminalAction::Input(_) => match &terminal.claim {
            TerminalClaim::Client(claim) if claim.client_id == *client => {}
            TerminalClaim::Client(_) | TerminalClaim::Session(_) => {
                return Err(Refusal::Invalid(
                    "the terminal is somebody else's".to_owned(),
                ));
            }
        },
        TerminalAction::Resized(_)
        | TerminalAction::TitleChanged(_)
        | TerminalAction::Cleared(_) => {}
        TerminalAction::Data(_)
        | TerminalAction::CwdChanged(_)
        | TerminalAction::Exited(_)
        | TerminalAction::CommandDetectionAvailable(_)
        | TerminalAction::CommandExecuted(_)
        | TerminalAction::CommandFinished(_) => {
            return Err(Refusal::HostOnly(action.info().name));
        }
    }
    Ok(action)
}
