// Texts of customizations.

export const customizations = {
  label: "Customizations",
};
