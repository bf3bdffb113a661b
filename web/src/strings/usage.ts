// Texts of usage.

export const usage = {
  label: "Usage",
};
