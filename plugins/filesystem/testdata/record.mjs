// Records the answers of @modelcontextprotocol/server-filesystem to the calls below, in the format that tests/filesystem_test.go reads:
//
//	npm install @modelcontextprotocol/server-filesystem@2026.8.31
//	node plugins/filesystem/testdata/record.mjs > plugins/filesystem/testdata/recorded.json
//
// Run it as root: the server runs as another user, for whom the files without permissions cannot be read. Each group of calls gets a new tree.
import {spawn, execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

const nobody = 65534;
const numbers = (from, to) => Array.from({length: to - from + 1}, (_, i) => `line ${from + i}`).join('\n') + '\n';

// The tree. Paths are relative to the directory that holds the allowed one, project.
const code = 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("hello")\n\tif true {\n\t\tfmt.Println("a")\n\t}\n}\n';
const tree = [
  {path: 'project/a.txt', text: 'one\ntwo\nthree\n'},
  {path: 'project/no-newline.txt', text: 'one\ntwo\nthree'},
  {path: 'project/empty.txt', text: ''},
  {path: 'project/newlines.txt', text: '\n\n\n'},
  {path: 'project/crlf.txt', text: 'one\r\ntwo\r\nthree\r\n'},
  {path: 'project/mixed.txt', text: 'one\r\ntwo\nthree\rfour\n'},
  {path: 'project/bom.txt', text: '\ufeffone\ntwo\n'},
  {path: 'project/unicode.txt', text: 'ünïcödé 日本語 😀\n\u2028line\u2029\u0085\u00a0end\n'},
  {path: 'project/quotes.txt', text: '"quoted" \\back\\slash\\ \t tab \u0001 \u007f </script>\n'},
  {path: 'project/binary.bin', base64: Buffer.from([...Array(256).keys()]).toString('base64')},
  {path: 'project/invalid.txt', base64: Buffer.from([0x61, 0xe2, 0x82, 0x62, 0xf0, 0x9f, 0x98, 0x0a, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0xff, 0x0a, 0xe2]).toString('base64')},
  {path: 'project/large.txt', lines: 60000},
  {path: 'project/long-line.txt', repeat: 'x', times: 5000},
  {path: 'project/long-lines.txt', repeat: 'abcdefghij'.repeat(150) + '\n', times: 40},
  {path: 'project/code.go', text: code},
  {path: 'project/backticks.md', text: 'text\n```js\ncode\n```\n````\nmore\n````\n'},
  {path: 'project/repeated.txt', text: 'same\nsame\nsame\nother\nsame\n'},
  {path: 'project/indented.py', text: 'def f():\n    if x:\n        return 1\n    return 2\n'},
  {path: 'project/tabs.txt', text: '\tone\n\t\ttwo\n\tthree\n'},
  {path: 'project/dollar.txt', text: 'cost $1 and $& and $$\n'},
  {path: 'project/pixel.png', base64: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='},
  {path: 'project/photo.JPG', base64: '/9j/4AAQ'}, {path: 'project/photo.jpeg', base64: '/9j/'}, {path: 'project/anim.gif', base64: 'R0lGODlh'},
  {path: 'project/pic.webp', base64: 'UklGRg=='}, {path: 'project/pic.bmp', base64: 'Qk0='}, {path: 'project/pic.svg', text: '<svg/>'},
  {path: 'project/sound.mp3', base64: 'SUQz'}, {path: 'project/sound.wav', base64: 'UklGRg=='}, {path: 'project/sound.ogg', base64: 'T2dnUw=='},
  {path: 'project/sound.flac', base64: 'ZkxhQw=='}, {path: 'project/doc.pdf', text: '%PDF-1.4'}, {path: 'project/.hidden', text: 'h'}, {path: 'project/noext', text: 'n'},
  {path: 'project/odd names/a b#c?d%e.bin', text: 'odd'}, {path: "project/odd names/quo'te\"s.txt", text: 'q'}, {path: 'project/odd names/new\nline.txt', text: 'n'},
  {path: 'project/odd names/back\\slash', text: 'b'}, {path: 'project/odd names/[brackets]{braces}', text: 'x'}, {path: 'project/odd names/tab\tname', text: 't'},
  {path: 'project/odd names/日本語.txt', text: 'j'}, {path: 'project/odd names/😀.txt', text: 'e'}, {path: 'project/odd names/ leading', text: 'l'},
  {path: 'project/odd names/trailing ', text: 't'}, {path: 'project/odd names/-dash', text: '-'}, {path: 'project/odd names/~tilde', text: '~'},
  {path: 'project/odd names/star*.txt', text: '*'}, {path: 'project/odd names/C:', text: 'c'}, {path: 'project/odd names/\u2028sep', text: 's'},
  {path: 'project/forms/caf\u00e9.txt', text: 'composed'}, {path: 'project/forms/re\u0301sume\u0301/notes.txt', text: 'decomposed'},
  {path: 'project/forms/both/\u00e9', text: '1'}, {path: 'project/forms/both/e\u0301', text: '2'}, {path: 'project/forms/angstrom-\u212b', text: 'a'},
  {path: 'project/empty', dir: true}, {path: 'project/deep/' + Array.from({length: 40}, (_, i) => 'd' + i).join('/') + '/bottom.txt', text: 'deep'},
  {path: 'project/src/main.js', text: '1'}, {path: 'project/src/main.test.js', text: '2'}, {path: 'project/src/lib/util.ts', text: '3'}, {path: 'project/src/lib/util.js', text: '4'},
  {path: 'project/src/lib/deep/er/x.js', text: '5'}, {path: 'project/src/.eslintrc', text: '6'}, {path: 'project/src/node_modules/left/index.js', text: '7'},
  {path: 'project/node_modules/pkg/index.js', text: '8'}, {path: 'project/node_modules/pkg/readme.md', text: '9'}, {path: 'project/dist/main.js', text: '10'}, {path: 'project/docs/README.md', text: '11'},
  {path: 'project/sizes/b.txt', repeat: 'x', times: 1023}, {path: 'project/sizes/a.txt', repeat: 'x', times: 1024}, {path: 'project/sizes/B.txt', repeat: 'x', times: 1025},
  {path: 'project/sizes/c-1.txt', repeat: 'x', times: 1152}, {path: 'project/sizes/c_1.txt', repeat: 'x', times: 1536}, {path: 'project/sizes/c.1.txt', repeat: 'x', times: 10240},
  {path: 'project/sizes/z', repeat: 'x', times: 1048576}, {path: 'project/sizes/y', repeat: 'x', times: 1048575}, {path: 'project/sizes/10', text: 'x'}, {path: 'project/sizes/9', text: 'y'},
  {path: 'project/sizes/é.txt', text: 'é'}, {path: 'project/sizes/e.txt', text: 'e'}, {path: 'project/sizes/f.txt', text: 'f'}, {path: 'project/sizes/日本', text: 'j'}, {path: 'project/sizes/😀', text: 'j'},
  {path: 'project/sizes-dirs/dir', dir: true}, {path: 'project/sizes-dirs/Zdir', dir: true}, {path: 'project/sizes-dirs/m', text: 'm'}, {path: 'project/sizes/a very long name that is longer than thirty characters.txt', text: 'l'}, {path: 'project/sizes/empty', text: ''},
  {path: 'project/sizes/link', link: 'a.txt'}, {path: 'project/sizes/dangling', link: 'nowhere'},
  {path: 'project/links/file', link: '../a.txt'}, {path: 'project/links/dir', link: '../src'}, {path: 'project/links/chain', link: 'file'}, {path: 'project/links/up', link: '..'},
  {path: 'project/links/absolute', link: '$P/a.txt'}, {path: 'project/links/loop', link: 'loop'}, {path: 'project/links/loop-a', link: 'loop-b'}, {path: 'project/links/loop-b', link: 'loop-a'},
  {path: 'project/links/dangling', link: 'missing'}, {path: 'project/links/dangling-deep', link: 'missing/deep/file'}, {path: 'project/links/out-file', link: '../../outside/secret.txt'},
  {path: 'project/links/out-dir', link: '../../outside'}, {path: 'project/links/out-absolute', link: '$R/outside/secret.txt'}, {path: 'project/links/out-missing', link: '../../outside/none'},
  {path: 'project/links/out-prefix', link: '$R/project-evil/secret.txt'}, {path: 'project/links/via-out', link: 'out-dir/secret.txt'}, {path: 'project/links/to-empty', link: '../empty'},
  {path: 'project/mode/secret.txt', text: 'secret', mode: 0}, {path: 'project/mode/closed/file.txt', text: 'f'}, {path: 'project/mode/closed', mode: 0}, {path: 'project/mode/readonly.txt', text: 'r', mode: 0o444},
  {path: 'project/mode/run.sh', text: '#!/bin/sh\n', mode: 0o755}, {path: 'project/mode/private.txt', text: 'p', mode: 0o600}, {path: 'project/mode/locked/file.txt', text: 'l'}, {path: 'project/mode/locked', mode: 0o555},
  {path: 'project/bytes/plain', text: 'p'}, {pathBase64: Buffer.from('project/bytes/bad-\xff\xfe', 'latin1').toString('base64'), text: 'b'}, {pathBase64: Buffer.from('project/bytes/trunc-\xe2\x82', 'latin1').toString('base64'), text: 't'},
  {path: 'project/repo/.git/config', text: '[core]\n'}, {path: 'project/repo/.git/HEAD', text: 'ref: refs/heads/main\n'}, {path: 'project/repo/.git/hooks/sample', text: 'x'}, {path: 'project/repo/tracked.txt', text: 't'},
  {path: 'project/.env', text: 'TOKEN=1\n'}, {path: 'project/keys/server.pem', text: 'key'}, {path: 'project/keys/public.txt', text: 'k'},
  {path: 'outside/secret.txt', text: 'secret'}, {path: 'project-evil/secret.txt', text: 'evil'},
];

const call = (tool, args) => ({tool, args});
const each = (tool, list) => list.map(args => call(tool, args));
const paths = ['a.txt', 'no-newline.txt', 'empty.txt', 'newlines.txt', 'crlf.txt', 'mixed.txt', 'bom.txt', 'unicode.txt', 'quotes.txt', 'invalid.txt', 'long-line.txt', 'long-lines.txt', 'large.txt'];
const wrong = [undefined, null, 1, true, [], {}];
const tools = {
  read_file: {path: 'a.txt'}, read_text_file: {path: 'a.txt'}, read_media_file: {path: 'a.txt'}, read_multiple_files: {paths: ['a.txt']}, write_file: {path: 'w.txt', content: 'w'},
  edit_file: {path: 'a.txt', edits: []}, create_directory: {path: 'new'}, list_directory: {path: '.'}, list_directory_with_sizes: {path: 'sizes'}, directory_tree: {path: 'src'},
  move_file: {source: 'a.txt', destination: 'b.txt'}, search_files: {path: '.', pattern: '*.go'}, get_file_info: {path: 'a.txt'},
};

const groups = {
  'reading': [
    ...paths.flatMap(p => [{path: p}, {path: '$P/' + p}, {path: p, head: 2}, {path: p, tail: 2}]).map(a => call('read_text_file', a)),
    ...[0, 1, 3, 4, 100, 1e9, 0.5, 1.5, 2.5, -1, -2, -0.5, 59999, 60000, 60001].flatMap(n => ['a.txt', 'large.txt', 'no-newline.txt'].flatMap(p => [call('read_text_file', {path: p, head: n}), call('read_text_file', {path: p, tail: n})])),
    ...each('read_text_file', [{path: 'a.txt', head: 1, tail: 1}, {path: 'none', head: 1, tail: 1}, {path: 'a.txt', head: 0, tail: 1}, {path: 'a.txt', head: 1, tail: 0}, {path: 'a.txt', extra: 1},
      {path: 'binary.bin'}, {path: 'binary.bin', head: 1}, {path: 'binary.bin', tail: 1}, {path: ''}, {path: '.'}, {path: 'src'}, {path: 'src', head: 1}, {path: 'src', tail: 1}, {path: 'none'}, {path: 'none', head: 1}, {path: 'none', tail: 1},
      {path: 'none/deep/er'}, {path: 'a.txt/below'}, {path: 'a.txt/'}, {path: './a.txt'}, {path: 'src/../a.txt'}, {path: '$P//a.txt'}, {path: '$P/./src/../a.txt'}, {path: 'none/../a.txt'}, {path: ' a.txt'}, {path: 'a.txt '},
      {path: '"a.txt"'}, {path: '~'}, {path: '~/x'}, {path: '~root/x'}, {path: 'C:\\x'}, {path: 'C:/x'}, {path: 'c:'}, {path: 'odd names/C:'}, {path: '\\\\server\\share'}, {path: 'x'.repeat(300)}, {path: 'y/'.repeat(2100)}, {path: 'nul\0byte'},
      {path: 'forms/cafe\u0301.txt'}, {path: 'forms/r\u00e9sum\u00e9/notes.txt'}, {path: 'forms/both/\u00e9'}, {path: 'forms/both/e\u0301'}, {path: 'forms/both/\u1e17'}, {path: 'forms/angstrom-\u00c5'}, {path: 'forms/none-\u00e9'},
      {path: 'deep/' + Array.from({length: 40}, (_, i) => 'd' + i).join('/') + '/bottom.txt'}]),
    ...tree.filter(t => t.path?.startsWith('project/odd names/')).map(t => call('read_file', {path: t.path.slice(8)})),
    ...each('read_file', [{path: 'a.txt', head: 1}, {path: 'a.txt', tail: 1}, {path: 'none'}]),
    ...each('read_multiple_files', [{paths: ['a.txt']}, {paths: ['a.txt', 'crlf.txt', 'empty.txt']}, {paths: ['none', 'a.txt', 'src', '/etc/passwd', 'invalid.txt', '']}, {paths: ['a.txt', 'a.txt']}, {paths: ['C:\\x', 'links/loop']}, {paths: []}]),
  ],
  'media': each('read_media_file', [...tree.filter(t => /^project\/[^/]+\.(png|jpg|jpeg|gif|webp|bmp|svg|mp3|wav|ogg|flac|pdf|bin|txt)$/i.test(t.path ?? '') && !/large|long/.test(t.path)), ...tree.filter(t => t.path?.startsWith('project/odd names/')),
    {path: 'project/.hidden'}, {path: 'project/noext'}, {path: 'project/none'}, {path: 'project/src'}, {path: 'project/links/file'}, {path: 'project/links/out-file'}].map(t => ({path: t.path.slice(8)}))),
  'lists': [
    ...['.', 'empty', 'src', 'odd names', 'links', 'sizes', 'sizes-dirs', 'bytes', 'mode', 'mode/closed', 'mode/locked', 'none', 'a.txt', 'links/dir', 'links/out-dir', 'links/to-empty', '..', '/', '$R', '$P', '$P/', 'repo', 'forms', 'keys', '', 'deep/d0/d1'].flatMap(p => [
      call('list_directory', {path: p}), ...(/^(links|\.|\$P\/?|)$/.test(p) ? [] : [call('list_directory_with_sizes', {path: p})])]),
    ...each('list_directory_with_sizes', [{path: 'sizes', sortBy: 'size'}, {path: 'sizes', sortBy: 'name'}, {path: 'src', sortBy: 'size'}, {path: 'odd names', sortBy: 'size'}, {path: 'empty', sortBy: 'size'}]),
    ...each('directory_tree', [{path: 'src'}, {path: 'empty'}, {path: 'odd names'}, {path: 'links'}, {path: 'links/dir'}, {path: 'none'}, {path: 'a.txt'}, {path: 'deep'}, {path: 'mode'}, {path: 'mode', excludePatterns: ['closed']}, {path: '..'}, {path: '$P/src'}, {path: 'bytes'},
      {path: 'repo'}, {path: 'links/out-dir'}, {path: 'links/loop'}, ...['node_modules', '*.js', '**/*.js', 'lib', 'lib/**', '**/lib/**', '**/lib', 'lib/*', 'main.*', '.*', '!main.js', 'deep', 'lib/deep', 'util.ts', '{main.js,lib}', '', '*', '**', 'node_modules/left', 'index.js', '[ml]*', '#x', 'src', '**/*.test.js'].map(x => ({path: 'src', excludePatterns: [x]})),
      {path: 'src', excludePatterns: ['node_modules', '*.test.js']}, {path: 'src', excludePatterns: []}]),
    ...each('list_allowed_directories', [{}, {extra: 1}]),
  ],
  'search': [
    ...['*', '**', '*.js', '**/*.js', 'src/**', 'src/*', '**/lib/**', '**/util.*', '*.{txt,md}', '**/*.{ts,md}', 'a.txt', '/a.txt', './a.txt', 'src', 'SRC', '**/[a-m]*.js', '**/!(*.test).js', '!**/*', '!(src)', '?.txt', '**/?.js', '.*', '**/.*', '.hidden', '[[:upper:]]*', '**/d39/*', '**/bottom.txt', '*names*/**', 'odd names/\\[*', '**/*😀*',
      '', ' ', '#a', '\\#a', 'none', '**/', 'src/', '**/node_modules/**', '+(a|b).txt', '@(a|crlf).txt', '*(a).txt', 'a.tx?', '*.TXT', '{a,bom,{crlf,mixed}}.txt', 'links/**', 'links/*', 'sizes/{1..10}', '**/*link*', '**/file*', 'forms/**', 'bytes/**', 'mode/**', 'repo/**', '**/keys/*', '**/.env'].map(p => call('search_files', {path: '.', pattern: p})),
    ...[['node_modules'], ['**/node_modules/**'], ['**/node_modules'], ['*.test.js'], ['**/*.test.js'], ['src'], ['src/**'], ['*'], ['**'], ['!**/*.js'], [], ['dist', '**/node_modules', 'src/lib'], ['*/']].map(x => call('search_files', {path: '.', pattern: '**/*.js', excludePatterns: x})),
    ...each('search_files', [{path: 'src', pattern: '**'}, {path: '$P/src', pattern: '*.js'}, {path: 'links/dir', pattern: '*.js'}, {path: 'none', pattern: '*'}, {path: 'a.txt', pattern: '*'}, {path: 'empty', pattern: '*'}, {path: '..', pattern: '*'}, {path: 'links/out-dir', pattern: '*'}, {path: 'mode/closed', pattern: '*'}, {path: 'deep', pattern: '**/d3?'}, {path: '/', pattern: 'etc'}]),
  ],
  'links': [
    ...tree.filter(t => t.path?.startsWith('project/links/')).flatMap(t => [call('read_text_file', {path: t.path.slice(8)}), call('get_file_info', {path: t.path.slice(8)})]),
    ...each('read_text_file', [{path: 'links/dir/main.js'}, {path: 'links/up/a.txt'}, {path: 'links/up/links/up/a.txt'}, {path: 'links/out-dir/secret.txt'}, {path: 'links/dir/../a.txt'}, {path: 'links/out-dir/../project/a.txt'}, {path: '../outside/secret.txt'}, {path: '../project-evil/secret.txt'}, {path: '$R/project-evil/secret.txt'}, {path: '$P-evil/secret.txt'}, {path: '/etc/passwd'}, {path: '../../../../../../../etc/passwd'}, {path: '$P/../outside/secret.txt'}, {path: '/proc/self/environ'}, {path: '/'}]),
    ...each('write_file', [{path: 'links/file', content: 'through\n'}, {path: 'links/out-file', content: 'x'}, {path: 'links/out-dir/new', content: 'x'}, {path: 'links/dangling', content: 'x'}, {path: 'links/dangling-deep', content: 'x'}, {path: 'links/out-missing', content: 'x'}, {path: 'links/loop', content: 'x'}, {path: 'links/dir/new.js', content: 'new'}, {path: '../outside/new', content: 'x'}]),
    ...each('read_text_file', [{path: 'a.txt'}, {path: 'links/absolute'}, {path: 'src/new.js'}]),
    ...each('edit_file', [{path: 'links/file', edits: [{oldText: 'through', newText: 'edited'}]}, {path: 'links/out-file', edits: [{oldText: 'secret', newText: 'x'}]}, {path: 'links/dir', edits: []}]),
    ...each('create_directory', [{path: 'links/dir/made'}, {path: 'links/out-dir/made'}, {path: 'links/dangling'}, {path: 'links/file'}, {path: 'links/dir'}]),
    ...each('move_file', [{source: 'links/chain', destination: 'moved'}, {source: 'links/out-file', destination: 'moved2'}, {source: 'crlf.txt', destination: 'links/out-dir/x'}, {source: 'crlf.txt', destination: 'links/dangling'}, {source: 'crlf.txt', destination: 'links/dir/crlf.txt'}]),
    ...each('list_directory', [{path: 'src'}, {path: 'links'}]),
  ],
  'writing': [
    ...each('write_file', [{path: 'new.txt', content: 'new\n'}, {path: 'new.txt', content: 'again\n'}, {path: '$P/abs.txt', content: 'abs'}, {path: 'empty-new.txt', content: ''}, {path: 'crlf-new.txt', content: 'a\r\nb\r\n'}, {path: 'uni.txt', content: 'é😀\u0000x'}, {path: 'src/x.txt', content: 'x'}, {path: 'none/x.txt', content: 'x'}, {path: 'src', content: 'x'}, {path: 'a.txt/x', content: 'x'},
      {path: 'mode/run.sh', content: '#!/bin/sh\necho\n'}, {path: 'mode/private.txt', content: 'p2'}, {path: 'mode/readonly.txt', content: 'r2'}, {path: 'mode/secret.txt', content: 's2'}, {path: 'mode/closed/x', content: 'x'}, {path: 'mode/locked/x', content: 'x'}, {path: 'mode/locked/file.txt', content: 'x'}, {path: '/etc/x', content: 'x'}, {path: '../x', content: 'x'}, {path: 'C:\\x', content: 'x'},
      {path: 'odd names/ü.txt', content: 'u'}, {path: 'odd names/a b#c?d%e.bin', content: 'changed'}, {path: 'forms/cafe\u0301.txt', content: 'same file'}, {path: 'z'.repeat(255), content: 'x'}, {path: 'z'.repeat(256), content: 'x'}, {path: 'repo/.git/hooks/pre-commit', content: 'x'}, {path: 'repo/.git/config', content: 'x'}, {path: '.env', content: 'x'}, {path: 'keys/server.pem', content: 'x'}, {path: 'sub.env', content: 'ok'}]),
    ...each('read_text_file', [{path: 'new.txt'}, {path: 'crlf-new.txt'}, {path: 'uni.txt'}, {path: 'src/x.txt'}, {path: 'mode/run.sh'}, {path: 'forms/caf\u00e9.txt'}, {path: 'mode/readonly.txt'}]),
    ...each('get_file_info', [{path: 'mode/run.sh'}, {path: 'mode/private.txt'}, {path: 'mode/readonly.txt'}, {path: 'mode/secret.txt'}, {path: 'new.txt'}, {path: 'empty.txt'}, {path: 'large.txt'}, {path: 'src'}, {path: 'none'}, {path: 'mode/closed'}, {path: 'mode/closed/file.txt'}, {path: '.'}, {path: '/etc/passwd'}, {path: 'odd names/日本語.txt'}]),
    ...each('create_directory', [{path: 'made'}, {path: 'made'}, {path: 'made/a/b/c'}, {path: '$P/made/abs'}, {path: 'a.txt'}, {path: 'a.txt/x'}, {path: 'mode/closed/x'}, {path: 'mode/locked/x'}, {path: '../made'}, {path: '/made'}, {path: 'odd names/dir é'}, {path: ''}, {path: '.'}, {path: 'repo/.git/new'}, {path: 'x'.repeat(256)}]),
    ...each('move_file', [{source: 'new.txt', destination: 'moved.txt'}, {source: 'moved.txt', destination: 'a.txt'}, {source: 'none', destination: 'x'}, {source: 'moved.txt', destination: 'made/moved.txt'}, {source: 'src/lib', destination: 'lib2'}, {source: 'made', destination: 'made/a/inside'}, {source: 'empty', destination: 'made'}, {source: 'a.txt', destination: 'none/x'}, {source: 'a.txt', destination: 'a.txt'},
      {source: 'a.txt', destination: '/tmp/x'}, {source: '/etc/passwd', destination: 'x'}, {source: 'a.txt', destination: '../x'}, {source: 'mode/locked/file.txt', destination: 'x'}, {source: 'a.txt', destination: 'mode/locked/x'}, {source: 'mode/closed/file.txt', destination: 'x'}, {source: 'a.txt', destination: 'no-newline.txt/x'}, {source: 'repo/.git/config', destination: 'x'}, {source: 'a.txt', destination: 'repo/.git/x'}, {source: 'odd names/日本語.txt', destination: 'odd names/moved 日本'}]),
    ...each('list_directory', [{path: '.'}, {path: 'made'}, {path: 'lib2'}, {path: 'odd names'}]),
  ],
  'editing': [
    ...[false, true].flatMap(dryRun => each('edit_file', [
      {path: 'a.txt', edits: [{oldText: 'two', newText: '2'}], dryRun}, {path: 'a.txt', edits: [{oldText: 'nothing', newText: 'x'}], dryRun}, {path: 'no-newline.txt', edits: [{oldText: 'three', newText: 'three\nfour'}], dryRun},
      {path: 'crlf.txt', edits: [{oldText: 'one\r\ntwo', newText: '1\r\n2'}], dryRun}, {path: 'mixed.txt', edits: [{oldText: 'two\nthree', newText: 'x'}], dryRun}, {path: 'repeated.txt', edits: [{oldText: 'same', newText: 'first'}], dryRun},
      {path: 'repeated.txt', edits: [{oldText: 'same\n', newText: ''}, {oldText: 'same', newText: 'second'}], dryRun}, {path: 'dollar.txt', edits: [{oldText: '$1', newText: '$& $1 $$ $`'}], dryRun}, {path: 'backticks.md', edits: [{oldText: 'code', newText: 'changed'}], dryRun},
      {path: 'code.go', edits: [{oldText: 'if true {\n  fmt.Println("a")\n}', newText: 'if false {\n  fmt.Println("b")\n    more()\n}'}], dryRun}, {path: 'indented.py', edits: [{oldText: 'if x:\n  return 1', newText: 'if y:\n  return 3\n  return 4'}], dryRun},
      {path: 'indented.py', edits: [{oldText: '        return 1', newText: 'return 5'}], dryRun}, {path: 'indented.py', edits: [{oldText: '  def f():  ', newText: 'def g():'}], dryRun}, {path: 'tabs.txt', edits: [{oldText: '  one\n    two', newText: '  uno\n    dos\n  tres'}], dryRun},
      {path: 'unicode.txt', edits: [{oldText: '😀', newText: '🎉'}], dryRun}, {path: 'bom.txt', edits: [{oldText: 'one', newText: '1'}], dryRun}, {path: 'empty.txt', edits: [{oldText: '', newText: 'start\n'}], dryRun}, {path: 'newlines.txt', edits: [{oldText: '\n\n', newText: 'x\n'}], dryRun},
    ])),
    ...each('edit_file', [{path: 'a.txt', edits: []}, {path: 'a.txt', edits: [], dryRun: true}, {path: 'a.txt', edits: [{oldText: '', newText: 'prefix\n'}]}, {path: 'a.txt', edits: [{oldText: 'prefix', newText: 'prefix'}]}, {path: 'a.txt', edits: [{oldText: 'prefix\n', newText: 'x\n'}, {oldText: 'x\n', newText: 'y\n'}, {oldText: 'z', newText: 'q'}]},
      {path: 'a.txt', edits: [{oldText: 'one', newText: 'ONE'}, {oldText: 'ONE', newText: 'uno'}]}, {path: 'none', edits: []}, {path: 'src', edits: []}, {path: '/etc/passwd', edits: []}, {path: 'mode/secret.txt', edits: []}, {path: 'mode/locked/file.txt', edits: [{oldText: 'l', newText: 'm'}]}, {path: 'mode/locked/file.txt', edits: [{oldText: 'l', newText: 'm'}], dryRun: true},
      {path: 'mode/run.sh', edits: [{oldText: '#!/bin/sh', newText: '#!/bin/bash'}]}, {path: 'large.txt', edits: [{oldText: 'line 30000\n', newText: 'changed\n'}, {oldText: 'line 30020\n', newText: ''}, {oldText: 'line 59999\n', newText: 'line 59999\nmore\n'}]}, {path: 'large.txt', edits: [{oldText: '  line 100  \n line 101', newText: 'x\ny'}], dryRun: true},
      {path: 'long-lines.txt', edits: [{oldText: 'abcdefghij'.repeat(150) + '\nabc', newText: 'short\nabc'}], dryRun: true}, {path: 'code.go', edits: [{oldText: 'import "fmt"\n\n', newText: 'import (\n\t"fmt"\n\t"os"\n)\n\n'}, {oldText: '\tfmt.Println("hello")\n', newText: '\tfmt.Fprintln(os.Stdout, "hello")\n'}]},
      {path: 'code.go', edits: [{oldText: '\n\n\n\n', newText: 'x'}]}, {path: 'code.go', edits: [{oldText: 'package main\n\n', newText: ''}]}, {path: 'repo/.git/config', edits: [{oldText: '[core]', newText: '[x]'}]}, {path: 'repo/.git/config', edits: [{oldText: '[core]', newText: '[x]'}], dryRun: true}, {path: '.env', edits: [{oldText: 'TOKEN', newText: 'X'}]},
      {path: 'invalid.txt', edits: [{oldText: 'a', newText: 'b'}], dryRun: true}, {path: 'binary.bin', edits: [{oldText: 'ABC', newText: 'abc'}], dryRun: true}]),
    ...each('read_text_file', ['a.txt', 'no-newline.txt', 'crlf.txt', 'mixed.txt', 'repeated.txt', 'dollar.txt', 'code.go', 'indented.py', 'tabs.txt', 'unicode.txt', 'empty.txt', 'newlines.txt', 'mode/run.sh'].map(path => ({path}))),
    call('get_file_info', {path: 'mode/run.sh'}),
  ],
  'arguments': [
    ...Object.entries(tools).flatMap(([tool, args]) => Object.keys(args).flatMap(name => wrong.map(value => call(tool, {...args, [name]: value})))).filter(c => !(Array.isArray(c.args.edits) && c.args.edits.length === 0 && typeof c.args.path === 'string')),
    ...each('read_text_file', [{path: 'a.txt', head: '1'}, {path: 'a.txt', tail: null}, {path: 'a.txt', head: true, tail: []}, {path: 1, head: 'x', tail: {}}]),
    ...each('edit_file', [{path: 'a.txt', edits: [1]}, {path: 'a.txt', edits: [{}]}, {path: 'a.txt', edits: [{oldText: 1, newText: null}, 'x', null, []]}, {path: 'a.txt', edits: [], dryRun: 'yes'}, {path: 'a.txt', edits: [{oldText: 'one', newText: 'one', extra: 1}], dryRun: null}]),
    ...each('list_directory_with_sizes', [{path: 'sizes', sortBy: 'date'}, {path: 'sizes', sortBy: null}, {path: 'sizes', sortBy: 1}, {path: 1, sortBy: 'x'}]),
    ...each('directory_tree', [{path: 'src', excludePatterns: 'x'}, {path: 'src', excludePatterns: [1, 'x', null]}, {path: 'src', excludePatterns: null}]),
    ...each('search_files', [{path: '.', pattern: '*', excludePatterns: [[]]}, {path: '.', pattern: '*', excludePatterns: {}}, {}]),
    ...each('read_multiple_files', [{paths: ['a.txt', 1]}, {paths: [null]}, {paths: {}}, {}]),
  ],
};

function build(root) {
  const at = t => t.pathBase64 ? Buffer.concat([Buffer.from(root + '/'), Buffer.from(t.pathBase64, 'base64')]) : path.join(root, t.path);
  const fill = s => s.replaceAll('$P', root + '/project').replaceAll('$R', root);
  for (const t of tree) {
    if ('mode' in t && t.text === undefined) continue;
    if (!t.pathBase64) fs.mkdirSync(path.dirname(at(t)), {recursive: true});
    if (t.dir) fs.mkdirSync(at(t), {recursive: true});
    else if (t.link) fs.symlinkSync(fill(t.link), at(t));
    else fs.writeFileSync(at(t), t.base64 !== undefined ? Buffer.from(t.base64, 'base64') : t.lines ? numbers(1, t.lines) : t.repeat ? t.repeat.repeat(t.times) : t.text);
    if (!t.link) fs.utimesSync(at(t), 1767323045, 1767323045);
  }
  execFileSync('chown', ['-R', `${nobody}:${nobody}`, root]);
  for (const t of tree) if ('mode' in t) fs.chmodSync(at(t), t.mode);
}

async function record(calls, server) {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'filesystem-'));
  fs.chmodSync(root, 0o755);
  const at = fs.realpathSync(root);
  build(at);
  const child = spawn('setpriv', ['--reuid', nobody, '--regid', nobody, '--clear-groups', process.execPath, server, at + '/project'].map(String),
    {stdio: ['pipe', 'pipe', 'ignore'], env: {PATH: process.env.PATH, HOME: '/home/me', TZ: 'UTC', LANG: 'en_US.UTF-8'}});
  const lines = readline.createInterface({input: child.stdout})[Symbol.asyncIterator]();
  let id = 0;
  const request = async (method, params) => {
    child.stdin.write(JSON.stringify({jsonrpc: '2.0', id: ++id, method, params}) + '\n');
    return JSON.parse((await lines.next()).value);
  };
  await request('initialize', {protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {name: 'recorder', version: '1'}});
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  const list = (await request('tools/list', {})).result.tools;
  const fill = v => JSON.parse(JSON.stringify(v).replaceAll('$P', at + '/project').replaceAll('$R', at));
  const out = [];
  for (const c of calls) {
    const {result, error} = await request('tools/call', {name: c.tool, arguments: fill(c.args)});
    if (error) throw new Error(JSON.stringify([c, error]));
    const answer = {};
    const text = result.content[0].text;
    const plain = result.content.length === 1 && text !== undefined && (result.isError ? !result.structuredContent : JSON.stringify(result.structuredContent) === JSON.stringify({content: text}));
    if (plain) {
      const masked = text.replaceAll(at + '/project', '$P').replaceAll(at, '$R').replace(/[0-9a-f]{32}\.tmp/, 'TEMPORARY');
      if (masked.length > 3000) answer.sha256 = createHash('sha256').update(masked).digest('hex');
      else answer.text = masked;
    } else answer.result = JSON.parse(JSON.stringify(result).replaceAll(at + '/project', '$P'));
    if (result.isError) answer.error = true;
    out.push({...c, ...answer});
  }
  child.kill();
  execFileSync('rm', ['-rf', at]);
  return [out, list];
}

const server = fs.realpathSync('node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
const recorded = {server: '@modelcontextprotocol/server-filesystem 2026.8.31', tree, tools: [], groups: {}};
for (const [name, calls] of Object.entries(groups)) [recorded.groups[name], recorded.tools] = await record(calls, server);
for (const t of recorded.tools) delete t.description; // texts are not copied
const strip = v => { if (v && typeof v === 'object') { if (typeof v.description === 'string') delete v.description; Object.values(v).forEach(strip); } return v; };
strip(recorded.tools);
const rows = Object.entries(recorded.groups).map(([name, calls]) => ` ${JSON.stringify(name)}: [\n${calls.map(c => '  ' + JSON.stringify(c)).join(',\n')}\n ]`);
process.stdout.write(`{"server": ${JSON.stringify(recorded.server)},\n"tree": [\n${tree.map(t => ' ' + JSON.stringify(t)).join(',\n')}\n],\n"tools": [\n${recorded.tools.map(t => ' ' + JSON.stringify(t)).join(',\n')}\n],\n"groups": {\n${rows.join(',\n')}\n}}\n`);
console.error(Object.values(recorded.groups).flat().length, 'calls');
