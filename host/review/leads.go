package review

// Place is where a granted path leads once its symbolic links are resolved, and how much that is.
type Place struct {
	Resolved string `json:"resolved,omitempty"`
	Breadth  string `json:"breadth,omitempty"` // "in the project", "the whole home directory"
	Refused  string `json:"refused,omitempty"` // why the host will not open it; empty if it will
	Broad    bool   `json:"-"`                 // everything of the user's lies in it
}

// Leads looks where a path leads; kind is Folder or Repository. Nil leaves that out.
type Leads func(kind, path string) Place

func (l Leads) look(kind, path string) Place {
	if l == nil {
		return Place{}
	}
	return l(kind, path)
}

// Arrow is where path leads in words, to be put behind it; empty where it leads to itself and that is nothing
// special.
func (p Place) Arrow(path string) string {
	switch {
	case p.Resolved == "" || p.Resolved == path && !p.Broad:
		return ""
	case p.Resolved == path:
		return ", " + p.Breadth
	}
	return " → " + p.Resolved + ", " + p.Breadth
}
