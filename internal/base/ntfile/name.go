// Package ntfile opens and changes files on Windows by a name in an open directory, as the *at system calls of Unix systems do.
// It uses NtCreateFile, which accepts a directory handle, as os.Root does. A name is one component. A symbolic link or junction
// is never followed, and names that Windows would map to a different file are refused (CheckName). Errors are those of POSIX.
//
// On other systems the package contains only the check of names and the decoders, so that they can be tested there.
package ntfile

import (
	"strings"
	"unicode/utf8"
)

// ErrName is the error of a name that CheckName refuses.
type ErrName string

func (e ErrName) Error() string { return "the name is not allowed on Windows: " + string(e) }

// CheckName refuses names that no file can have, and names by which Windows may open a file with a different name:
//
//   - special characters: "a:b" is the stream b of the file a, and ":" alone separates a drive; "\" separates components, and
//     "*", "?", "<", ">" and `"` are wildcards;
//   - names that end in a dot or a space, which Windows removes: "a." is "a";
//   - device names, with any extension: "NUL", "con.txt", "COM¹";
//   - short names of the form NAME~1.EXT, which Windows generates for files with longer names, and NAME~X5.EXT, which Samba and
//     Wine generate.
//
// CheckName ignores upper and lower case. Code that compares names must fold them.
func CheckName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return ErrName("it is empty, or a reference to a directory")
	case !utf8.ValidString(name):
		return ErrName("it is not valid UTF-8") // the conversion to UTF-16 would change the name
	case strings.ContainsFunc(name, isReservedRune):
		return ErrName("it contains a reserved character")
	case name[len(name)-1] == '.' || name[len(name)-1] == ' ':
		return ErrName("it ends in a dot or a space")
	case isDevice(name):
		return ErrName("it is the name of a device")
	case isShort(name):
		return ErrName("it has the form of a short name")
	}
	return nil
}

func isReservedRune(r rune) bool { return r < ' ' || strings.ContainsRune(`"*/:<>?\|`, r) }

// isDevice reports whether the part of a name before its first dot is the name of a device. Devices exist in every directory.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	number, ok := strings.CutPrefix(base, "COM")
	if !ok {
		number, ok = strings.CutPrefix(base, "LPT")
	}
	switch number { // Windows accepts superscript digits, too
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
		return ok
	}
	return false
}

func isAlphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
}

// isShort reports whether a name has the form of a generated 8.3 name: at most eight characters, the last of which are a tilde
// and digits or letters, and an extension of at most three characters. Windows generates digits after the tilde, and Samba and
// Wine generate digits and letters.
func isShort(name string) bool {
	base, extension, _ := strings.Cut(name, ".")
	tilde := strings.LastIndexByte(base, '~')
	if tilde < 0 || len([]rune(base)) > 8 || len([]rune(extension)) > 3 || strings.Contains(extension, ".") {
		return false
	}
	mark := base[tilde+1:]
	return mark != "" && !strings.ContainsFunc(mark, func(r rune) bool { return !isAlphanumeric(r) })
}
