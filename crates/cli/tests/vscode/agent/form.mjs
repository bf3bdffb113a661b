// The form of the demo agent: one question of each kind that ACP has.

export const formQuestions = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', description: 'What is your name?' },
    count: { type: 'integer', title: 'Count', description: 'How many files?', minimum: 1, maximum: 9 },
    ratio: { type: 'number', title: 'Ratio', description: 'Which ratio?' },
    sure: { type: 'boolean', title: 'Sure', description: 'Are you sure?' },
    colour: {
      type: 'string', title: 'Colour', description: 'Which colour?',
      oneOf: [{ const: 'red', title: 'Red' }, { const: 'green', title: 'Green' }, { const: 'blue', title: 'Blue' }],
    },
    toppings: {
      type: 'array', title: 'Toppings', description: 'Which toppings?',
      items: { anyOf: [{ const: 'salt', title: 'Salt' }, { const: 'pepper', title: 'Pepper' }, { const: 'garlic', title: 'Garlic' }] },
    },
  },
  required: ['name', 'colour'],
};

/** Says what was answered, with the type of each value. */
export function answerForm({ action, content }) {
  if (action !== 'accept') return `Form: ${action}.`;
  const values = Object.keys(formQuestions.properties).map(name => `${name}=${JSON.stringify(content?.[name])}`);
  return `Form: accept ${values.join(', ')}.`;
}
