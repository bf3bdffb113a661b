//! Checks client actions on terminals.

use agenthost_protocol::ids::ClientId;
use agenthost_protocol::terminal::{
    TerminalAction, TerminalClaim, TerminalLifecycle, TerminalSessionClaim, TerminalState,
};

use super::check_title;
use crate::host::error::Refusal;
use crate::terminal::TERMINAL_SIZE_RANGE;

pub(super) fn check_terminal_action(
    terminal: &TerminalState,
    client: &ClientId,
    mut action: TerminalAction,
) -> Result<TerminalAction, Refusal> {
    let exited = matches!(terminal.lifecycle, TerminalLifecycle::Exited(_));
    match &mut action {
        TerminalAction::Input(_) if exited => {
            return Err(Refusal::Invalid("the terminal has exited".to_owned()));
        }
        TerminalAction::Resized(size)
            if !TERMINAL_SIZE_RANGE.contains(&size.cols)
                || !TERMINAL_SIZE_RANGE.contains(&size.rows) =>
        {
            let reason = "a terminal has 1 to 1000 columns and rows";
            return Err(Refusal::Invalid(reason.to_owned()));
        }
        // Clients fit every terminal that they show to their window (VS Code). An exited
        // terminal keeps its size, and the action is changed to that size (TER-11).
        TerminalAction::Resized(size) if exited => {
            size.cols = terminal.cols.unwrap_or(size.cols);
            size.rows = terminal.rows.unwrap_or(size.rows);
        }
        TerminalAction::Input(_) => match &terminal.claim {
            TerminalClaim::Client(claim) if claim.client_id == *client => {}
            TerminalClaim::Client(_) => return Err(not_claimed()),
            // Any client of the session may write to the terminals that the session runs.
            TerminalClaim::Session(_) => {}
        },
        TerminalAction::Claimed(claimed) => match (&terminal.claim, &claimed.claim) {
            (_, TerminalClaim::Client(wanted)) if wanted.client_id != *client => {
                return Err(Refusal::NotSelf);
            }
            (TerminalClaim::Client(holder), _) if holder.client_id == *client => {}
            (TerminalClaim::Session(held), TerminalClaim::Session(wanted))
                if is_narrower(held, wanted) => {}
            (
                TerminalClaim::Client(_) | TerminalClaim::Session(_),
                TerminalClaim::Client(_) | TerminalClaim::Session(_),
            ) => return Err(not_claimed()),
        },
        TerminalAction::TitleChanged(change) => check_title(&change.title)?,
        TerminalAction::Resized(_) | TerminalAction::Cleared(_) => {}
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

/// Returns `true` for an action that lets the command of a tool call continue in the background
/// (TER-15).
pub(super) fn is_detach(terminal: &TerminalState, action: &TerminalAction) -> bool {
    let names_turn = |claim: &TerminalClaim| match claim {
        TerminalClaim::Session(claim) => claim.turn_id.is_some() || claim.tool_call_id.is_some(),
        TerminalClaim::Client(_) => false,
    };
    match action {
        TerminalAction::Claimed(claimed) => {
            matches!(claimed.claim, TerminalClaim::Session(_))
                && names_turn(&terminal.claim)
                && !names_turn(&claimed.claim)
        }
        TerminalAction::Input(_)
        | TerminalAction::Resized(_)
        | TerminalAction::TitleChanged(_)
        | TerminalAction::Cleared(_)
        | TerminalAction::Data(_)
        | TerminalAction::CwdChanged(_)
        | TerminalAction::Exited(_)
        | TerminalAction::CommandDetectionAvailable(_)
        | TerminalAction::CommandExecuted(_)
        | TerminalAction::CommandFinished(_) => false,
    }
}

fn not_claimed() -> Refusal {
    Refusal::Invalid("the terminal is claimed by another client or session".to_owned())
}

/// Returns `true` if the wanted claim has the same session and chat, and names the same turn
/// and tool call or none. Such a claim moves a session's terminal to the background.
fn is_narrower(held: &TerminalSessionClaim, wanted: &TerminalSessionClaim) -> bool {
    let turn = wanted.turn_id.is_none() || wanted.turn_id == held.turn_id;
    let call = wanted.tool_call_id.is_none() || wanted.tool_call_id == held.tool_call_id;
    held.session == wanted.session && held.chat == wanted.chat && turn && call
}
