// Texts of settings.

export const settings = {
  label: "Settings",
};
