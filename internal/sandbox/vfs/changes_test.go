//go:build linux || darwin

package vfs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/experimental/sys"
)

// Each case tries one change that is not granted. It must fail with the given error number, leave the host's files unchanged,
// and be reported if it is a refusal.
func TestUngrantedChangesAreRefused(t *testing.T) {
	out := []string{"out/canary.txt", "workshop/canary.txt"}
	for name, c := range map[string]struct {
		do    func(w *world) sys.Errno
		errno sys.Errno
	}{
		"write in a read-only mount":                  {writes("ro/r.txt"), sys.EACCES},
		"make a file in a read-only mount":            {writes("ro/new.txt"), sys.EACCES},
		"make a directory in a read-only mount":       {mkdirs("ro/new"), sys.EACCES},
		"make an existing directory is EEXIST":        {mkdirs("ro/d"), sys.EEXIST},
		"remove in a read-only mount":                 {unlinks("ro/r.txt"), sys.EACCES},
		"remove an absent file of a read-only mount":  {unlinks("ro/nothing"), sys.ENOENT},
		"set times in a read-only mount":              {utimens("ro/r.txt"), sys.EACCES},
		"set a mode in a read-only mount":             {chmods("ro/r.txt"), sys.EACCES},
		"make a file in a virtual directory":          {writes("new.txt"), sys.EACCES},
		"make a directory in a virtual directory":     {mkdirs("new"), sys.EACCES},
		"make a virtual directory is EEXIST":          {mkdirs(""), sys.EEXIST},
		"remove a virtual directory":                  {rmdirs(""), sys.EACCES},
		"make a file in no mount":                     {writes("out/new.txt"), sys.ENOENT},
		"write through a link out":                    {writes("w/abs-out"), sys.EACCES},
		"write through a relative link out":           {writes("w/rel-out"), sys.EACCES},
		"make a file through a linked directory out":  {writes("w/dir-out/new.txt"), sys.EACCES},
		"write through a link to a read-only mount":   {writes("w/toro"), sys.EACCES},
		"write in a nested read-only mount":           {writes("p/sub/s.txt"), sys.EACCES},
		"write in it through a link around it":        {writes("p/alias/s.txt"), sys.EACCES},
		"write in it through an absolute link":        {writes("p/absalias/s.txt"), sys.EACCES},
		"make a file where a mount is a link":         {writes("p/evil/new.txt"), sys.EACCES},
		"rename a mount point away":                   {renames("p/deep/er/grant", "p/gone"), sys.EPERM},
		"rename a directory above a mount point":      {renames("p/deep", "p/shallow"), sys.EPERM},
		"rename another one above it":                 {renames("p/deep/er", "p/er"), sys.EPERM},
		"rename something over a mount point":         {renames("w/dir", "p/deep/er/grant"), sys.EPERM},
		"rename a read-only mount point away":         {renames("p/sub", "p/gone"), sys.EACCES},
		"remove a nested mount point":                 {rmdirs("p/deep/er/grant"), sys.EPERM},
		"remove a read-only one":                      {rmdirs("p/sub"), sys.EACCES},
		"remove a mount's own directory":              {rmdirs("w"), sys.EPERM},
		"rename a mount's own directory":              {renames("w", "p/w"), sys.EPERM},
		"remove the link in a mount's place":          {unlinks("p/evil"), sys.EACCES},
		"put a link in an absent mount's place":       {symlinks("sub", "p/later"), sys.EACCES},
		"put a link in an absent writable one's":      {symlinks("w", "absent"), sys.EPERM},
		"put a file in an absent mount's place":       {writes("absent"), sys.EPERM},
		"move a directory to an absent mount's place": {renames("w/dir", "absent"), sys.EPERM},
		"write in .git by a link behind it":           {writes("w/linked/.git/inner/b.txt"), sys.EPERM},
		"make an absent read-only mount":              {mkdirs("absent-ro"), sys.EACCES},
		"make an absent nested read-only mount":       {mkdirs("p/later"), sys.EACCES},
		"write in .git":                               {writes("w/.git/config"), sys.EPERM},
		"make a hook":                                 {writes("w/.git/hooks/pre-commit"), sys.EPERM},
		"make a hook through a link":                  {writes("w/gitdirlink/hooks/pre-commit"), sys.EPERM},
		"write in .git through a link":                {writes("w/gitlink"), sys.EPERM},
		"write in a .git that is a link":              {writes("w/linked/.git/config"), sys.EPERM},
		"make a file in a .git that is a link":        {writes("w/linked/.git/new"), sys.EPERM},
		"write in .git of a directory further down":   {writes("w/module/.git/HEAD"), sys.EPERM},
		"empty a file in .git":                        {opens("w/.git/config", sys.O_RDONLY|sys.O_TRUNC), sys.EPERM},
		"append to a file in .git":                    {opens("w/.git/config", sys.O_WRONLY|sys.O_APPEND), sys.EPERM},
		"remove in .git":                              {unlinks("w/.git/config"), sys.EPERM},
		"remove a directory in .git":                  {rmdirs("w/.git/hooks"), sys.EPERM},
		"make a directory in .git":                    {mkdirs("w/.git/new"), sys.EPERM},
		"set times in .git":                           {utimens("w/.git/config"), sys.EPERM},
		"set a mode in .git":                          {chmods("w/.git/config"), sys.EPERM},
		"rename .git":                                 {renames("w/.git", "w/g"), sys.EPERM},
		"rename a file out of .git":                   {renames("w/.git/config", "w/config"), sys.EPERM},
		"rename a file into .git":                     {renames("w/a.txt", "w/.git/hooks/pre-commit"), sys.EPERM},
		"rename a directory to .git":                  {renames("w/dir", "w/empty/.git"), sys.EPERM},
		"make a directory .git":                       {mkdirs("w/empty/.git"), sys.EPERM},
		"make a directory .GIT":                       {mkdirs("w/empty/.GIT"), sys.EPERM},
		"make a file .git":                            {writes("w/empty/.git"), sys.EPERM},
		"make a link .git":                            {symlinks("../dir", "w/empty/.git"), sys.EPERM},
		"make a directory that HFS+ takes for .git":   {mkdirs("w/empty/.g\u200cit"), sys.EPERM},
		"hard-link a file out of .git":                {links("w/.git/config", "w/config"), sys.EPERM},
		"hard-link a file into .git":                  {links("w/a.txt", "w/.git/hooks/pre-commit"), sys.EPERM},
		"hard-link a file out of a read-only mount":   {links("p/sub/s.txt", "p/s.txt"), sys.EACCES},
		"hard-link between mounts":                    {links("w/a.txt", "p/a.txt"), sys.ENOTSUP},
		"hard-link a link":                            {links("w/link", "w/link2"), sys.EPERM},
		"hard-link over a file":                       {links("w/a.txt", "w/dir/b.txt"), sys.EEXIST},
		"rename between mounts":                       {renames("w/a.txt", "p/a.txt"), sys.ENOTSUP},
		"rename out of a nested read-only mount":      {renames("p/sub/s.txt", "p/s.txt"), sys.EACCES},
		"rename a directory into itself":              {renames("w/dir", "w/dir/dir"), sys.EINVAL},
		"rename a file to a name with a slash":        {renames("w/a.txt", "w/new/"), sys.ENOTDIR},
		"rename an absent file":                       {renames("w/nothing", "w/new"), sys.ENOENT},
		"link to an absolute place in no mount":       {symlinks("/etc/passwd", "w/new"), sys.EACCES},
		"link to a relative place in no mount":        {symlinks("dir/../../out", "w/new"), sys.EACCES},
		"link to a sibling named like a mount":        {symlinks("../workshop/canary.txt", "w/new"), sys.EACCES},
		"link to nothing":                             {symlinks("", "w/new"), sys.EINVAL},
		"link with a target of over 4096 bytes":       {symlinks(strings.Repeat("x", 5000), "w/new"), sys.ENAMETOOLONG},
		"link over a file":                            {symlinks("dir", "w/a.txt"), sys.EEXIST},
		"make a file that must not be there":          {opens("w/a.txt", sys.O_WRONLY|sys.O_CREAT|sys.O_EXCL), sys.EEXIST},
		"make a file where a dangling link is":        {opens("w/dangling", sys.O_WRONLY|sys.O_CREAT|sys.O_EXCL), sys.EEXIST},
		"make a file with a slash behind its name":    {writes("w/new/"), sys.EISDIR},
		"open a link itself":                          {opens("w/link", sys.O_RDONLY|sys.O_NOFOLLOW), sys.ELOOP},
		"open a directory for writing":                {opens("w/dir", sys.O_RDWR), sys.EISDIR},
		"open a file as a directory":                  {opens("w/a.txt", sys.O_RDONLY|sys.O_DIRECTORY), sys.ENOTDIR},
		"remove a directory as a file":                {unlinks("w/empty"), sys.EISDIR},
		"remove a file as a directory":                {rmdirs("w/a.txt"), sys.ENOTDIR},
		"remove a linked directory as a directory":    {rmdirs("w/dirlink"), sys.ENOTDIR},
		"remove a directory that is not empty":        {rmdirs("w/dir"), sys.ENOTEMPTY},
		"remove nothing by an empty path":             {func(w *world) sys.Errno { return w.fs.Unlink("") }, sys.EINVAL},
		"remove the root":                             {func(w *world) sys.Errno { return w.fs.Rmdir("/") }, sys.EACCES},
		"remove /etc/passwd, in no mount":             {func(w *world) sys.Errno { return w.fs.Unlink("/etc/passwd") }, sys.ENOENT},
		"set times through a read-only handle in ro":  {handleTimes("ro/r.txt"), sys.EACCES},
		"set times of a directory in ro":              {handleTimes("ro/d"), sys.EACCES},
		"set times of a virtual directory":            {handleTimes(""), sys.EACCES},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := snapshot(t, w.root)
			errno := c.do(w)
			if errno != c.errno {
				t.Errorf("got %v, want %v", errno, c.errno)
			}
			if diff := cmp.Diff(before, snapshot(t, w.root)); diff != "" {
				t.Errorf("the host's files changed (-before +after):\n%s", diff)
			}
			for _, f := range out {
				if w.host(f) != canary {
					t.Errorf("the file %s, which is not granted, has changed", f)
				}
			}
			if refused := errno == sys.EACCES || errno == sys.EPERM || strings.Contains(name, "in no mount"); refused != (len(w.denied) == 1) {
				t.Errorf("got %v, reported as denied: %q; want one report for a refusal, and none otherwise", errno, w.denied)
			}
		})
	}
}

// snapshot returns all files below a directory: type, mode, modification time and content or target.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.Walk(root, func(p string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		content, _ := os.ReadFile(p)
		if target, err := os.Readlink(p); err == nil {
			content = []byte(target)
		}
		out[p] = info.Mode().String() + " " + info.ModTime().Format(time.RFC3339Nano) + " " + string(content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type change = func(*world) sys.Errno

func writes(p string) change  { return func(w *world) sys.Errno { return w.write(p, "changed") } }
func mkdirs(p string) change  { return func(w *world) sys.Errno { return w.fs.Mkdir(w.in(p), 0o700) } }
func rmdirs(p string) change  { return func(w *world) sys.Errno { return w.fs.Rmdir(w.in(p)) } }
func unlinks(p string) change { return func(w *world) sys.Errno { return w.fs.Unlink(w.in(p)) } }
func chmods(p string) change  { return func(w *world) sys.Errno { return w.fs.Chmod(w.in(p), 0o777) } }
func utimens(p string) change { return func(w *world) sys.Errno { return w.fs.Utimens(w.in(p), 0, 0) } }
func renames(from, to string) change {
	return func(w *world) sys.Errno { return w.fs.Rename(w.in(from), w.in(to)) }
}
func links(from, to string) change {
	return func(w *world) sys.Errno { return w.fs.Link(w.in(from), w.in(to)) }
}
func symlinks(target, p string) change {
	return func(w *world) sys.Errno { return w.fs.Symlink(target, w.in(p)) }
}
func opens(p string, flag sys.Oflag) change {
	return func(w *world) sys.Errno {
		f, errno := w.open(p, flag)
		if errno == 0 {
			f.Close()
		}
		return errno
	}
}
func handleTimes(p string) change {
	return func(w *world) sys.Errno {
		f, errno := w.open(p, sys.O_RDONLY)
		if errno != 0 {
			return errno
		}
		defer f.Close()
		return f.Utimens(0, 0)
	}
}

func TestGrantedChanges(t *testing.T) {
	for name, c := range map[string]struct {
		do   change
		file string // file on the host to read afterwards
		want string // its wanted content; "" if the file must not exist
	}{
		"make a file":                               {writes("w/new.txt"), "w/new.txt", "changed"},
		"replace a file's content":                  {writes("w/a.txt"), "w/a.txt", "changed"},
		"write through a link":                      {writes("w/link"), "w/a.txt", "changed"},
		"write through an absolute link":            {writes("w/abs"), "w/dir/b.txt", "changed"},
		"make a file through a dangling link":       {writes("w/dangling"), "w/new.txt", "changed"},
		"make a file through a linked directory":    {writes("w/dirlink/new.txt"), "w/dir/new.txt", "changed"},
		"write in a nested writable mount":          {writes("p/deep/er/grant/g.txt"), "p/deep/er/grant/g.txt", "changed"},
		"write beside a nested mount":               {writes("p/deep/er/n.txt"), "p/deep/er/n.txt", "changed"},
		"rename over a file":                        {renames("w/a.txt", "w/dir/b.txt"), "w/dir/b.txt", "a"},
		"rename a directory":                        {renames("w/dir", "w/moved"), "w/moved/b.txt", "b"},
		"rename a directory over an empty one":      {renames("w/dir", "w/empty"), "w/empty/b.txt", "b"},
		"rename a directory to a name with a slash": {renames("w/dir", "w/moved/"), "w/moved/b.txt", "b"},
		"rename a link itself":                      {renames("w/link", "w/dir/../link2"), "w/link2", "a"},
		"rename a directory that holds .git":        {renames("w/module", "w/m2"), "w/m2/.git/HEAD", "ref"},
		"hard-link a file":                          {links("w/a.txt", "w/dir/a2.txt"), "w/dir/a2.txt", "a"},
		"make a relative link":                      {symlinks("../a.txt", "w/dir/l"), "w/dir/l", "a"},
		"remove a link out of the mounts":           {unlinks("w/abs-out"), "w/abs-out", ""},
		"remove a file":                             {unlinks("w/a.txt"), "w/a.txt", ""},
		"a name that only begins with .git":         {writes("w/.gitignore"), "w/.gitignore", "changed"},
		"make a directory and a file in it":         {both(mkdirs("w/n/"), writes("w/n/f")), "w/n/f", "changed"},
		"make a mount's own directory, then use it": {both(mkdirs("absent"), writes("absent/f")), "absent/f", "changed"},
		"make a link to another mount, and use it":  {both(linkTo("w/l", "p/f.txt"), writes("w/l")), "p/f.txt", "changed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if errno := c.do(w); errno != 0 {
				t.Fatalf("got %v", errno)
			}
			if got := w.host(c.file); got != c.want {
				t.Errorf("%s contains %q, want %q", c.file, got, c.want)
			}
			if len(w.denied) > 0 || len(w.errors) > 0 {
				t.Errorf("reported: denied %q, errors %v", w.denied, w.errors)
			}
		})
	}
}

func both(a, b change) change {
	return func(w *world) sys.Errno {
		if errno := a(w); errno != 0 {
			return errno
		}
		return b(w)
	}
}

func linkTo(name, target string) change {
	return func(w *world) sys.Errno { return w.fs.Symlink(w.at(target), w.in(name)) }
}
