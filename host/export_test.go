package host

// NoteSkills is noteSkills, for tests.
var NoteSkills = noteSkills
