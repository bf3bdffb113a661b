// Texts of terminals.

export const terminals = {
  label: "Terminals",
};
