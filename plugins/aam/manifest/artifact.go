package manifest

// Type is a kind of artifact.
type Type string

// The types.
const (
	Agent       Type = "agent"
	Skill       Type = "skill"
	Prompt      Type = "prompt"
	Instruction Type = "instruction"
)

// Types returns all types, in the order in which artifacts are always gone through.
func Types() []Type { return []Type{Agent, Skill, Prompt, Instruction} }

// Plural returns the word that stands for the type as a key, such as "skills".
func (t Type) Plural() string { return string(t) + "s" }

// ParseType returns the type of that name; false for another word.
func ParseType(text string) (Type, bool) {
	for _, t := range Types() {
		if string(t) == text {
			return t, true
		}
	}
	return "", false
}

// Artifact is one thing that a package brings.
type Artifact struct {
	Type        Type
	Name        string
	Path        string // relative to the package's folder; "" and "." are that folder
	Description string
}
