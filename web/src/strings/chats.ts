// Texts of chats.

export const chats = {
  label: "Chats",
};
