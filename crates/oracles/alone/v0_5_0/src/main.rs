//! The official crate of 0.5.0: questions on standard input, answers on
//! standard output, a line each.

agenthost_oracles::official_with_chats! {
    V0_5_0: ahp, ahp_types;
    states {}
    documents {
        "result/fetchTurns": commands::FetchTurnsResult,
        "notification/root/progress": notifications::ProgressParams,
    }
}

agenthost_oracles::live!(Client: ahp, ahp_types, channels);

fn main() -> std::io::Result<()> {
    let (questions, answers) = (std::io::stdin().lock(), std::io::stdout().lock());
    agenthost_oracles::serve(
        &mut V0_5_0::default(),
        &mut Client::default(),
        questions,
        answers,
    )
}
