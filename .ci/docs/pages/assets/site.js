// Names for the search and the bars of code blocks, and the keyboard's way into tables that scroll: the theme has neither.
const named = () => {
  for (const bar of document.querySelectorAll(".md-code__nav:not([aria-label])"))
    bar.setAttribute("aria-label", `Code ${bar.parentElement.id}`)
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])"))
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0
}
new MutationObserver(named).observe(document.body, { childList: true, subtree: true })
named()
document.querySelector(".md-search")?.setAttribute("aria-label", "Search")
