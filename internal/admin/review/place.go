package review

// Place is what a granted path refers to after its symbolic links are resolved.
type Place struct {
	Resolved string `json:"resolved,omitempty"`
	Breadth  string `json:"breadth,omitempty"` // how much the directory contains: "in the project", "the whole home directory"
	Refused  string `json:"refused,omitempty"` // reason why the host does not open the path; empty if the host opens it
	Broad    bool   `json:"-"`                 // whether the directory contains all files of the user
}

// Resolver resolves path, whose kind is Folder or Repository. within has the meaning of Within in config.Mount. If a Resolver is nil, all
// Places are zero.
type Resolver func(kind, path string, within []string) Place

func (r Resolver) resolve(kind, path string, within []string) Place {
	if r == nil {
		return Place{}
	}
	return r(kind, path, within)
}

// Arrow formats p as a suffix of path: " → /resolved, in the project". The suffix is empty if path contains no symbolic links and is
// not broad.
func (p Place) Arrow(path string) string {
	switch {
	case p.Resolved == "" || p.Resolved == path && !p.Broad:
		return ""
	case p.Resolved == path:
		return ", " + p.Breadth
	}
	return " → " + p.Resolved + ", " + p.Breadth
}
