/** The roadmap that an orchestrator begins with, when nobody gave it another: its goal, and room for the rest. */
export const seedText = (name: string, goal: string): string => `# Roadmap: ${name}

## Goal
${goal.trim()}

## Plan
- [ ] Break the goal into parts, and note here who works on which.

## Decisions
`
