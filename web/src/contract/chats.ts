// Commands and data of chats.

export type ChatCommand = never;
