package manifest

// Type is the type of an artifact.
type Type string

const (
	Agent       Type = "agent"
	Skill       Type = "skill"
	Prompt      Type = "prompt"
	Instruction Type = "instruction"
)

// Types returns all types. Every list of types in this plugin has this order.
func Types() []Type { return []Type{Agent, Skill, Prompt, Instruction} }

// Plural returns the plural of the type, such as "skills", which is the key of the type's artifacts in a manifest.
func (t Type) Plural() string { return string(t) + "s" }

// ParseType returns the type whose name is text; false if no type has that name.
func ParseType(text string) (Type, bool) {
	for _, t := range Types() {
		if string(t) == text {
			return t, true
		}
	}
	return "", false
}

// Artifact is a part of a package that can be deployed.
type Artifact struct {
	Type        Type
	Name        string
	Path        string // path relative to the package's directory; "" and "." are the package's directory itself
	Description string
}
