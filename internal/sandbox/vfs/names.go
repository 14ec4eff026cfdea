package vfs

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// FoldName maps all names that some file system treats as equal to the same form: names that differ in case, in Unicode
// normalization, or in invisible code points that HFS+ and ext4 ignore.
func FoldName(name string) string {
	lower := true
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 0x80:
			return foldUnicode(name)
		case 'A' <= c && c <= 'Z':
			lower = false
		}
	}
	if lower {
		return name
	}
	return strings.ToLower(name)
}

func foldUnicode(name string) string {
	// Lower case first: Fold exchanges the upper and lower case of Cherokee letters.
	folded := cases.Fold().String(strings.ToLower(norm.NFD.String(strings.Map(dropIgnored, name))))
	return norm.NFC.String(strings.Map(dropIgnored, folded))
}

// dropIgnored drops invisible code points: format characters, variation selectors, fillers.
func dropIgnored(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return r
}

// isGit reports whether name is ".git" on some file system, by FoldName or as the short name on FAT and NTFS.
func isGit(name string) bool {
	if len(name) < len(".git") {
		return false
	}
	folded := FoldName(name)
	return folded == ".git" || folded == "git~1"
}
