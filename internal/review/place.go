package review

// Place is a granted path after its symbolic links are resolved.
type Place struct {
	Resolved string `json:"resolved,omitempty"`
	Breadth  string `json:"breadth,omitempty"` // "in the project", "the whole home directory"
	Refused  string `json:"refused,omitempty"` // why the host does not open the path; empty if the host opens it
	Broad    bool   `json:"-"`                 // the path contains all files of the user
}

// Resolver resolves a path. kind is Folder or Repository; within is the Within of a config.Mount. A nil Resolver
// returns zero Places.
type Resolver func(kind, path string, within []string) Place

func (r Resolver) resolve(kind, path string, within []string) Place {
	if r == nil {
		return Place{}
	}
	return r(kind, path, within)
}

// Arrow formats p for appending to path: " → /resolved, in the project". It is empty if path has no symbolic
// links and is not broad.
func (p Place) Arrow(path string) string {
	switch {
	case p.Resolved == "" || p.Resolved == path && !p.Broad:
		return ""
	case p.Resolved == path:
		return ", " + p.Breadth
	}
	return " → " + p.Resolved + ", " + p.Breadth
}
