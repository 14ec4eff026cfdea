/** URI templates of resources: {name} stands for a part without slashes, {+name} for one with them. */

/** Returns a function that returns the variables of a URI; null if the URI does not match. */
export function compile(template) {
  const names = [];
  let pattern = "";
  let end = 0;
  for (const match of template.matchAll(/\{(\+?)([A-Za-z0-9_.]+)\}/g)) {
    pattern += escape(template.slice(end, match.index)) + (match[1] ? "(.+)" : "([^/]+)");
    names.push(match[2]);
    end = match.index + match[0].length;
  }
  const rest = template.slice(end);
  if (names.length === 0 || /[{}]/.test(pattern.replaceAll("\\{", "{").replaceAll("\\}", "}") + rest)) {
    throw new TypeError(`the URI template ${JSON.stringify(template)}: use {name} and {+name}, at least once`);
  }
  const expression = new RegExp(`^${pattern}${escape(rest)}$`, "su");
  return (uri) => {
    const match = expression.exec(uri);
    return match && Object.fromEntries(names.map((name, i) => [name, decode(match[i + 1])]));
  };
}

function escape(literal) {
  return literal.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that encodes nothing
  }
}
