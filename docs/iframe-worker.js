/* Browsers start no workers for pages that are opened from disk, and the search is one. There a hidden frame stands in:
   the script runs in it, and messages are handed over as events. The theme looks for the class by its name. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.frame = frame
      const inside = frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.ready = new Promise((resolve, reject) => {
        const script = inside.document.createElement("script")
        script.src = new URL(address, location)
        script.onload = resolve
        script.onerror = reject
        inside.document.body.appendChild(script)
      })
    }
    postMessage(data) {
      this.ready.then(() => {
        const inside = this.frame.contentWindow
        inside.dispatchEvent(new inside.MessageEvent("message", { data }))
      })
    }
    terminate() {
      this.frame.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
