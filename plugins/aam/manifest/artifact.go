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

// Types returns all types in canonical order.
func Types() []Type { return []Type{Agent, Skill, Prompt, Instruction} }

// Plural returns the key of the type in a manifest, such as "skills".
func (t Type) Plural() string { return string(t) + "s" }

// ParseType returns the type with that name; false if there is none.
func ParseType(text string) (Type, bool) {
	for _, t := range Types() {
		if string(t) == text {
			return t, true
		}
	}
	return "", false
}

// Artifact is an artifact of a package, which can be deployed.
type Artifact struct {
	Type        Type
	Name        string
	Path        string // relative to the package's directory; "" and "." are that directory
	Description string
}
