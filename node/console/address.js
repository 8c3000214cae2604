// The part of the address behind the # names a view, and behind a ? what it shows, so that an address can be sent and gone back to.

/** asked are the parameters in the address. */
export const asked = () => new URLSearchParams(location.hash.split("?")[1] ?? "");

/** keep writes parameters into the address and returns those that are set. push makes them a step of the browser's back button. */
export function keep(view, entries, push = false) {
  const wanted = new URLSearchParams(entries.filter(([, v]) => v !== "" && v !== null && v !== undefined));
  const address = `#${view}${wanted.size > 0 ? `/?${wanted}` : ""}`;
  if (address !== location.hash) history[push ? "pushState" : "replaceState"](null, "", address);
  return wanted;
}
