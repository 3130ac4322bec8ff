// Uploads a file that is dropped on the form as if it was chosen in it.

const form = document.querySelector("[data-drop]");
if (form) {
  const input = form.querySelector("input[type=file]");
  form.querySelector("[data-drop-hint]").hidden = false;
  for (const type of ["dragenter", "dragover"]) {
    form.addEventListener(type, (event) => {
      event.preventDefault();
      form.classList.add("over");
    });
  }
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    if (event.dataTransfer.files.length !== 1) return;
    input.files = event.dataTransfer.files;
    form.requestSubmit();
  });
  form.addEventListener("submit", () => {
    const button = form.querySelector("button");
    button.textContent = "Uploading …";
    button.disabled = true;
  });
}
